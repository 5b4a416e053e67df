#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer T { float ta[1024]; float tb[1024]; };
layout(binding = 1) buffer O { float o[]; };
// The difference of the two.
void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i] = ta[i] - 3 * tb[i];
}
