// A work-group goes through a row, whose length is a multiple of its size: what its sub-groups make of it, in an order that does not matter, is
// added to each element.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Z { uint z[]; };
layout(push_constant) uniform P { uint columns; } p;

shared uint sums[128];
shared uint most[128];
shared uint odd[128];

void main() {
    uint first = gl_WorkGroupID.x * p.columns, own = 0u, largest = 0u, count = 0u;
    for (uint k = gl_LocalInvocationIndex; k < p.columns; k += gl_WorkGroupSize.x) {
        own += x[first + k];
        largest = max(largest, x[first + k]);
        count += subgroupBallotBitCount(subgroupBallot(x[first + k] % 2u == 1u));
    }
    own = subgroupAdd(own);
    for (uint lanes = gl_SubgroupSize / 2u; lanes > 0u; lanes >>= 1u) {
        largest = max(largest, subgroupShuffle(largest, gl_SubgroupInvocationID ^ lanes));
    }
    if (subgroupElect()) {
        sums[gl_SubgroupID] = own;
        most[gl_SubgroupID] = largest;
        odd[gl_SubgroupID] = count;
    }
    barrier();
    for (uint other = 1u; other < gl_NumSubgroups; other++) {
        if (gl_SubgroupID == other) {
            if (subgroupElect()) {
                sums[0] += sums[other];
                most[0] = max(most[0], most[other]);
            }
            subgroupBarrier();
            if (gl_SubgroupInvocationID == gl_SubgroupSize - 1u) {
                odd[0] += odd[other];
            }
        }
        barrier();
    }
    uint all = sums[0] + 7u * most[0] + 11u * odd[0] + 1000u * gl_NumSubgroups * gl_SubgroupSize;
    for (uint k = gl_LocalInvocationIndex; k < p.columns; k += gl_WorkGroupSize.x) {
        z[first + k] = 3u * x[first + k] + all;
    }
}
