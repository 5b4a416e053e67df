// p[at + i] = first + i: a kernel that writes some of the numbers.
#version 450
layout(local_size_x = 32, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; uint first; uint at; };
layout(std430, set = 0, binding = 0) buffer P { uint p[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    p[at + i] = first + i;
}
