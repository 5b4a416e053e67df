// Two arrays in one block.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
layout(set = 0, binding = 0) buffer T { uint ta[64]; uint tb[64]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = ta[i] * 1000u + tb[i];
}
