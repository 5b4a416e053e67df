// Reverses each group through shared memory. The macro ORDER orders the two halves, or not.
#version 450
layout(local_size_x = 16) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };
shared uint tile[16];
void main() {
    uint i = gl_GlobalInvocationID.x;
    tile[gl_LocalInvocationID.x] = x[i];
    ORDER
    z[i] = tile[15 - gl_LocalInvocationID.x];
}
