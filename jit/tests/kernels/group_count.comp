#version 450
// Reads the number of work-groups, so it cannot be regrouped.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Data { uint v[]; };
void main() {
    for (uint i = gl_GlobalInvocationID.x; i < v.length(); i += gl_NumWorkGroups.x * 64u) v[i] += i;
}
