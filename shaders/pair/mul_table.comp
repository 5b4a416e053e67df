// z = x * table[local id] on i32; the table of ten integers comes by value in the push constants.
#version 450
layout(local_size_x = 8, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; int table[10]; };
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer Z { int z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = x[i] * table[gl_LocalInvocationID.x];
}
