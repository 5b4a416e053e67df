// Copies structs whose second word is padding.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint n; };
struct Padded { int a; ivec2 b; };
layout(std430, set = 0, binding = 0) buffer X { Padded x[]; };
layout(std430, set = 0, binding = 1) buffer Z { Padded z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (4 * i >= n) return;
    z[i] = x[i];
}
