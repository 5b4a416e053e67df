// Exchanges neighbours' elements inside a sub-group, and writes the sub-group size the kernel saw.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };
layout(std430, set = 0, binding = 2) buffer SIZES { uint sizes[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = subgroupShuffleXor(x[i], 1u);
    sizes[i] = gl_SubgroupSize;
}
