#version 450
// The same by rows.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, row_major) buffer M { mat2 m[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    vec2 c = m[i][1];
    m[i][0] = c.yx;
}
