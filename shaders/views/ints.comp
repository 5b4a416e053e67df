#version 450
// Signed words in place.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Z { int z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = z[i] * 7 - 3;
}
