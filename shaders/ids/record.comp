// Every item writes what each id built-in says, three components each, at its own linear position in
// the whole range. Six buffers, so that a wrong value names its built-in.
#version 450
layout(local_size_x = 1, local_size_y = 1, local_size_z = 1, local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(std430, set = 0, binding = 0) buffer GLOBAL_SIZE { uint global_size[]; };
layout(std430, set = 0, binding = 1) buffer LOCAL_SIZE { uint local_size[]; };
layout(std430, set = 0, binding = 2) buffer GROUP_COUNT { uint group_count[]; };
layout(std430, set = 0, binding = 3) buffer GLOBAL_ID { uint global_id[]; };
layout(std430, set = 0, binding = 4) buffer LOCAL_ID { uint local_id[]; };
layout(std430, set = 0, binding = 5) buffer GROUP_ID { uint group_id[]; };

void main() {
    uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize;
    uvec3 at = gl_GlobalInvocationID;
    uint i = 3 * ((at.z * size.y + at.y) * size.x + at.x);
    for (uint c = 0; c < 3; ++c) {
        global_size[i + c] = size[c];
        local_size[i + c] = gl_WorkGroupSize[c];
        group_count[i + c] = gl_NumWorkGroups[c];
        global_id[i + c] = at[c];
        local_id[i + c] = gl_LocalInvocationID[c];
        group_id[i + c] = gl_WorkGroupID[c];
    }
}
