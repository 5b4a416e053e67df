// Reads a shared element, a local variable and a buffer that have not been written.
#version 450
layout(local_size_x = 4) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };
shared uint tile[8];
void main() {
    uint i = gl_LocalInvocationID.x;
    uint local[4];
    local[i & 1] = i;
    tile[i] = i;
    barrier();
    z[i] = KIND;
}
