#version 450
// Four words, one by one.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer S { uint s[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    for (uint k = 0u; k < 4u; k++)
        s[4u * i + k] += k * s[4u * i];
}
