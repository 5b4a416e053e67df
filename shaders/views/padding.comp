#version 450
// The word behind a vector of three.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer S { uint s[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    s[4u * i + 3u] += s[4u * i];
    s[4u * i + 1u] ^= s[4u * i + 3u];
}
