#version 450
// Atomics on a buffer and in shared memory, `.length()`, a coherent buffer.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) readonly buffer In { uint keys[]; };
layout(set = 0, binding = 1, std430) coherent buffer Hist { uint bins[]; };
layout(set = 0, binding = 2, std430) buffer Sized { uint header; uint tail[]; } sized;
shared uint local_count;
void main() {
    if (gl_LocalInvocationIndex == 0) local_count = 0;
    barrier();
    uint i = gl_GlobalInvocationID.x;
    if (i < keys.length()) {
        atomicAdd(bins[keys[i] % uint(sized.tail.length())], 1);
        atomicAdd(local_count, 1);
    }
    memoryBarrierBuffer();
}
