#version 450
// Words in place, by the Vulkan memory model.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] += 5u;
}
