#version 450
// Fills a column of each matrix, whose components lie a row apart.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(std430, row_major, binding = 1) buffer T { mat4 t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    t[i][0] = vec4(a[i]);
}
