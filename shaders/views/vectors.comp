#version 450
// Four words as a vector.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer V { uvec4 v[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    v[i] = v[i].yzwx * 3u + 1u;
}
