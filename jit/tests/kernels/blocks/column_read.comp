// Matrices, column-major.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
layout(set = 0, binding = 0, column_major) buffer T { mat2 t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = uint(t[i][0][1] * 1000.0 + t[i][1][0]);
}
