#version 450
// In place, with a restricted buffer: nothing else aliases it.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) restrict buffer X { uint x[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    x[i] = x[i] ^ (x[i] >> 3);
}
