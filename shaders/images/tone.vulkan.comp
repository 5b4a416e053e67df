#version 450
// The curve of `tone.comp`, in place, under the Vulkan memory model, by way of another invocation of the work-group.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, r32f) workgroupcoherent uniform image2D image;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    ivec2 first = ivec2(gl_WorkGroupID.xy) * 8;
    // Mirrored inside of the work-group, twice.
    for (int round = 0; round < 2; round++) {
        ivec2 other = first + 7 - (at - first);
        vec4 texel = imageLoad(image, other);
        controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsImage,
            gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
        imageStore(image, at, texel);
        controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsImage,
            gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
    }
    float x = imageLoad(image, at).x;
    imageStore(image, at, vec4(x / (x + 1.0)));
}
