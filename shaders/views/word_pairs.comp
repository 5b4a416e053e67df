#version 450
// Two words, one by one.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer W { uint w[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    w[2u * i] ^= w[2u * i + 1u];
    w[2u * i + 1u] += w[2u * i];
}
