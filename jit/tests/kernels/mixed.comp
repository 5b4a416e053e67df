#version 450
// Two variables of different kinds on one binding: nothing that can be bound is both.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Data { uint v[]; };
layout(set = 0, binding = 0, std140) uniform Setting { uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n) {
        v[i] += 1u;
    }
}
