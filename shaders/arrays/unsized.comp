#version 450
#extension GL_EXT_nonuniform_qualifier : require
// An array as long as what is bound.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Rows { float row[]; } rows[];

void main() {
    rows[gl_NumWorkGroups.x].row[gl_GlobalInvocationID.x] = 1.0;
}
