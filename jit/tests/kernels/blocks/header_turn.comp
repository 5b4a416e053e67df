// The whole block as one array, the elements of a work-group in reverse.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
layout(set = 0, binding = 0) buffer T { uint all[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = all[4u + gl_WorkGroupID.x * 8u + 7u - gl_LocalInvocationID.x];
}
