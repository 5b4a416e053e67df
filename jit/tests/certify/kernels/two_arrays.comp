#version 450
// Fills two arrays of one block.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) buffer T { float ta[1024]; float tb[1024]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    ta[i] = a[i];
    tb[i] = a[i] + 1;
}
