// Sub-group operations, for 8 invocations to a sub-group.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_clustered : require
layout(local_size_x = 16) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };
shared uint tile[16];
void main() {
    uint i = gl_LocalInvocationIndex;
    uint v = x[i];
    z[i] = subgroupAdd(v);
    z[16 + i] = subgroupExclusiveAdd(v);
    z[32 + i] = subgroupInclusiveMax(v);
    z[48 + i] = subgroupBallot((v & 1) == 1).x;
    z[64 + i] = subgroupShuffleXor(v, 3);
    z[80 + i] = subgroupBroadcast(v, 2) + (subgroupElect() ? 1000 : 0);
    z[96 + i] = subgroupClusteredMin(v, 4) + (subgroupAll(v < 100) ? 1 : 0);
    z[112 + i] = gl_SubgroupID * 100 + gl_SubgroupInvocationID + gl_SubgroupSize * 10000;
    tile[i] = v;
    subgroupBarrier();
    z[128 + i] = tile[i ^ REACH];
#ifdef DIVERGENT
    if (i < 3) z[i] = subgroupAdd(i);
    barrier();
    z[i] += 1;
#endif
}
