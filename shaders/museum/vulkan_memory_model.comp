// Kernels of the Vulkan memory model that share a buffer.
#version 450
layout(local_size_x = 16) in;
#pragma use_vulkan_memory_model
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(DOUBLE)
    b[i] = 2 * a[i];
#elif defined(PLUS)
    b[i] += a[i];
#elif defined(MIRROR)
    b[i] = a[16 * g + 15 - l];
#endif
}
