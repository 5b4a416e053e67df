// Item 1 puts the group's number into shared memory, everybody writes it.
#version 450
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer Z { uint z[]; };

shared uint value;

void main() {
    if (gl_LocalInvocationID.x == 1) {
        value = gl_WorkGroupID.x;
    }
    barrier();
    z[gl_GlobalInvocationID.x] = value;
}
