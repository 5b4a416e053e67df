// z of a group is 1 if every element of the group is below `limit`, else 2: neither is what memory held before.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint limit; };
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };

shared uint failures;

void main() {
    if (gl_LocalInvocationID.x == 0) failures = 0;
    barrier();
    if (x[gl_GlobalInvocationID.x] >= limit) atomicAdd(failures, 1u);
    barrier();
    if (gl_LocalInvocationID.x == 0) z[gl_WorkGroupID.x] = failures == 0 ? 1 : 2;
}
