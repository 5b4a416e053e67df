// z = x + y on i32, where x travels through the kernel's own shared memory and its own barrier:
// each item stores its neighbour's mirrored element and reads back its own. No guard.
#version 450
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer Y { int y[]; };
layout(std430, set = 0, binding = 2) buffer Z { int z[]; };

shared int staged[gl_WorkGroupSize.x];

void main() {
    uint own = gl_LocalInvocationID.x;
    uint mirror = gl_WorkGroupSize.x - 1 - own;
    uint base = gl_WorkGroupID.x * gl_WorkGroupSize.x;
    staged[own] = x[base + mirror];
    barrier();
    z[base + own] = staged[mirror] + y[base + own];
}
