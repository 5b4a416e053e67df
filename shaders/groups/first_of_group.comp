// Item 0 of every work-group writes a value made of the group's number; the others write nothing.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer Z { uint z[]; };

void main() {
    if (gl_LocalInvocationID.x == 0) {
        z[gl_WorkGroupID.x] = 7 * gl_WorkGroupID.x + 3;
    }
}
