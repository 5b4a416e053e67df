#version 450
// The same bits as floats.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = uintBitsToFloat(floatBitsToUint(a[i]) + 77u);
}
