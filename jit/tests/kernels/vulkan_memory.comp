#version 450
// A kernel of the Vulkan memory model, in place and so that two of it share their buffer.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : enable

layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = z[i] * 3u + a[i];
}
