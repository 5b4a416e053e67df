#version 450
// Vectors of three, each followed by a word that is no part of it.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer V { uvec3 v[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    v[i] = v[i].zxy * 5u + 2u;
}
