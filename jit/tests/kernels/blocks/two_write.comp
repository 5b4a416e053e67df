// Two arrays in one block.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer T { uint ta[64]; uint tb[64]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    ta[i] = a[i]; tb[i] = a[i] * 3u + 1u;
}
