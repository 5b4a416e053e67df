#version 450
// Mirrors each work-group's elements, by the Vulkan memory model.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : enable

layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer Z { uint z[]; };

void main() {
    uint l = gl_LocalInvocationID.x;
    uint first = 8u * gl_WorkGroupID.x;
    z[first + l] = a[first + 7u - l];
}
