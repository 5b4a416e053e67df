// Writes the local invocation index and the group's linear number of every item, for one dimension.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer INDEX { uint index[]; };
layout(std430, set = 0, binding = 1) buffer GROUP { uint group[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    index[i] = gl_LocalInvocationIndex;
    group[i] = gl_WorkGroupID.x;
}
