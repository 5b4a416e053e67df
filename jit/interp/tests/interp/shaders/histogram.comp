// Counts values, in shared memory first. Everything that meets is atomic or behind a barrier.
#version 450
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer H { uint histogram[8]; };
shared uint counts[8];
void main() {
    if (gl_LocalInvocationIndex < 8) counts[gl_LocalInvocationIndex] = 0;
    barrier();
    atomicAdd(counts[x[gl_GlobalInvocationID.x] & 7], 1);
    barrier();
    if (gl_LocalInvocationIndex < 8) atomicAdd(histogram[gl_LocalInvocationIndex], counts[gl_LocalInvocationIndex]);
}
