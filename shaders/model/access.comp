#version 450
// Doubles an element, in a module of the Vulkan memory model whose stores and loads say different things of themselves.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
#if defined(NONPRIVATE)
layout(set = 0, binding = 1) nonprivate buffer D { float d[]; };
#elif defined(COHERENT)
layout(set = 0, binding = 1) coherent buffer D { float d[]; };
#elif defined(GROUP)
layout(set = 0, binding = 1) workgroupcoherent buffer D { float d[]; };
#else
layout(set = 0, binding = 1) buffer D { float d[]; };
#endif
layout(push_constant) uniform P { uint n; } p;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < p.n) {
#if defined(SHIFT)
        d[i] = a[i] + a[min(i + 1, p.n - 1)];
#else
        d[i] = 2 * a[i];
#endif
    }
}
