#version 450
// Every fourth word, by the layout of uniform buffers.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std140) buffer S { uint s[256]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < 256u)
        s[i] = s[i] * 3u + 1u;
}
