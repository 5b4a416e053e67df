// Item 0 fetches the group's element of x into shared memory, everybody writes it.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };

shared uint value;

void main() {
    if (gl_LocalInvocationID.x == 0) {
        value = x[gl_WorkGroupID.x];
    }
    barrier();
    z[gl_GlobalInvocationID.x] = value;
}
