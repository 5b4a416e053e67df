// Reverses the elements inside each work-group. `n` must be a multiple of the work-group size.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uint base = gl_WorkGroupID.x * gl_WorkGroupSize.x;
    uint own = gl_LocalInvocationID.x;
    z[base + own] = x[base + gl_WorkGroupSize.x - 1 - own];
}
