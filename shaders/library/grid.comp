#version 450
// Lines of as many elements as an argument says.
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform P { uint width; } p;

void main() {
    uint x = gl_GlobalInvocationID.x;
    if (x < p.width) {
        uint i = gl_GlobalInvocationID.y * p.width + x;
        b[i] = a[i] * 3.0;
    }
}
