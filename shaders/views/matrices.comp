#version 450
// Matrices by columns.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, column_major) buffer M { mat2 m[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    mat2 t = m[i];
    m[i] = mat2(t[1], t[0]);
}
