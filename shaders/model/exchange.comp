#version 450
// Mirrors the elements of a work-group and doubles them: in shared memory, or in the buffer itself. The Vulkan memory model.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
#if defined(SHARED)
layout(set = 0, binding = 1) buffer D { float d[]; };
shared float s[64];
#else
layout(set = 0, binding = 1) workgroupcoherent buffer D { float d[]; };
#endif

void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex, first = i - l;
#if defined(SHARED)
    s[l] = a[i];
    barrier();
    d[i] = 2 * s[63 - l];
#else
    d[i] = 2 * a[i];
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
    float other = d[first + 63 - l];
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
    d[i] = other;
#endif
}
