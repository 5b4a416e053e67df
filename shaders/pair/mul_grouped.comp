// z = x * y on i32, indexed by work-group and local id instead of the global id. No guard:
// `n` must be a multiple of the work-group size.
#version 450
layout(local_size_x = 128, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer Y { int y[]; };
layout(std430, set = 0, binding = 2) buffer Z { int z[]; };

void main() {
    uint i = gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    z[i] = x[i] * y[i];
}
