// All id built-ins in three dimensions.
#version 450
layout(local_size_x = 2, local_size_y = 3, local_size_z = 2) in;
layout(std430, set = 0, binding = 0) buffer Z { uvec4 z[]; };
void main() {
    uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize;
    uvec3 g = gl_GlobalInvocationID;
    uint at = (g.z * size.y + g.y) * size.x + g.x;
    z[2 * at] = uvec4(gl_WorkGroupID, gl_LocalInvocationIndex);
    z[2 * at + 1] = uvec4(gl_LocalInvocationID, size.x * 100 + size.y * 10 + size.z);
}
