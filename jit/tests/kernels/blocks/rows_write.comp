// An array of arrays.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer T { uint t[4][8]; uint u[4][8]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    t[gl_WorkGroupID.x][gl_LocalInvocationID.x] = a[i]; u[gl_WorkGroupID.x][gl_LocalInvocationID.x] = a[i] + 7u;
}
