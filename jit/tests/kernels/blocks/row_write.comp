// Matrices, row-major.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1, row_major) buffer T { mat2 t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float v = float(a[i]); t[i] = mat2(v, v + 1.0, v + 2.0, v + 3.0);
}
