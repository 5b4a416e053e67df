#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
// Sub-group operations; the only id it reads is the global one.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Data { uint v[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint total = subgroupAdd(v[i]);
    if (subgroupElect()) v[i] = total + subgroupBallotBitCount(subgroupBallot(v[i] > 3));
}
