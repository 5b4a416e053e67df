#version 450
#extension GL_EXT_nonuniform_qualifier : require
// Each item reads the buffer that it chooses itself.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Rows { float row[]; } rows[3];
layout(set = 0, binding = 1) writeonly buffer Out { float result[]; };
layout(push_constant) uniform Push { uint n; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n) {
        result[i] = rows[nonuniformEXT(i % 3)].row[i] * 2.0;
    }
}
