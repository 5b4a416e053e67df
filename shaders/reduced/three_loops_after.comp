#version 450
// The places of `three_loops`, read as they are stored: 24 elements an invocation.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };

void main() {
    uint g = gl_GlobalInvocationID.x;
    for (uint k = 0; k < 3; ++k) {
        for (uint i = 0; i < 4; ++i) {
            for (uint j = 0; j < 2; ++j) {
                b[((g * 4 + i) * 2 + j) * 3 + k] = a[((g * 4 + i) * 2 + j) * 3 + k] + 1.0;
            }
        }
    }
}
