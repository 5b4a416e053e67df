// Sum of x: atomics on shared memory within the work-group, then one atomic per group.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer RESULT { uint result[]; };

shared uint part;

void main() {
    if (gl_LocalInvocationID.x == 0) part = 0;
    barrier();
    atomicAdd(part, x[gl_GlobalInvocationID.x]);
    barrier();
    if (gl_LocalInvocationID.x == 0) atomicAdd(result[0], part);
}
