// An array of arrays.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
layout(set = 0, binding = 0) buffer T { uint t[4][8]; uint u[4][8]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = t[gl_WorkGroupID.x][gl_LocalInvocationID.x] * 1000u + u[gl_WorkGroupID.x][gl_LocalInvocationID.x];
}
