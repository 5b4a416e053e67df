// Sum of x where the work-group that finishes last adds up the groups' partial sums. The groups speak to
// each other through device-scope atomics and barriers, so nothing of this may move into another kernel.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) coherent buffer PARTIAL { uint partial[]; };
layout(std430, set = 0, binding = 2) coherent buffer DONE { uint done[]; };
layout(std430, set = 0, binding = 3) buffer RESULT { uint result[]; };

shared uint part;

void main() {
    if (gl_LocalInvocationID.x == 0) part = 0;
    barrier();
    atomicAdd(part, x[gl_GlobalInvocationID.x]);
    barrier();
    if (gl_LocalInvocationID.x == 0) {
        partial[gl_WorkGroupID.x] = part;
        memoryBarrierBuffer();
        if (atomicAdd(done[0], 1u) == gl_NumWorkGroups.x - 1) {
            memoryBarrierBuffer();
            uint total = 0;
            for (uint g = 0; g < gl_NumWorkGroups.x; ++g) total += partial[g];
            result[0] = total;
        }
    }
}
