// Maximum of x: a tree in shared memory per work-group, then one atomic per group. The work-group size must be
// a power of two and divide the number of elements.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer RESULT { uint result[]; };

shared uint part[gl_WorkGroupSize.x];

uint combine(uint a, uint b) {
    return max(a, b);
}

void main() {
    uint own = gl_LocalInvocationID.x;
    part[own] = x[gl_GlobalInvocationID.x];
    barrier();
    for (uint half_size = gl_WorkGroupSize.x / 2; half_size > 0; half_size /= 2) {
        if (own < half_size) part[own] = combine(part[own], part[own + half_size]);
        barrier();
    }
    if (own == 0) atomicMax(result[0], part[0]);
}
