// Item 0 of a work-group copies the group's elements of x to shared memory; after the kernel's own barrier
// everybody reads its element from there. What item 0 reads, other items of the group wrote before.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };

shared uint staged[gl_WorkGroupSize.x];

void main() {
    uint base = gl_WorkGroupID.x * gl_WorkGroupSize.x;
    if (gl_LocalInvocationID.x == 0) {
        for (uint k = 0; k < gl_WorkGroupSize.x; ++k) {
            staged[k] = x[base + k];
        }
    }
    barrier();
    z[base + gl_LocalInvocationID.x] = staged[gl_LocalInvocationID.x];
}
