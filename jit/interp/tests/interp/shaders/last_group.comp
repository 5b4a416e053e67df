// Each group leaves its sum; the last one to finish adds the sums. Ordered by atomics, not by barriers.
#version 450
layout(local_size_x = 4) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) coherent buffer Z { uint done; uint total; uint parts[]; };
void main() {
    if (gl_LocalInvocationIndex != 0) return;
    uint g = gl_WorkGroupID.x;
    parts[g] = x[4 * g] + x[4 * g + 1] + x[4 * g + 2] + x[4 * g + 3];
    memoryBarrierBuffer();
    if (atomicAdd(done, 1) + 1 == gl_NumWorkGroups.x) {
        memoryBarrierBuffer();
        uint sum = 0;
        for (uint k = 0; k < gl_NumWorkGroups.x; ++k) sum += parts[k];
        total = sum;
    }
}
