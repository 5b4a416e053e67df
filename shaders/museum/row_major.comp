// Columns of row-major matrices are written, and the matrices are read as rows of numbers.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { float a[]; };
layout(std430, binding = 1) buffer Matrices { layout(row_major) mat4 m[]; };
layout(std430, binding = 2) buffer Numbers { float t[]; };
layout(std430, binding = 3) buffer D { float d[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(COLUMN)
    m[i][1] = vec4(a[i], a[i] + 1.0, a[i] + 2.0, a[i] + 3.0);
#elif defined(NUMBERS)
    d[i] = t[16 * i + 1] + t[16 * i + 2] + t[16 * i + 3] + t[16 * i + 4];
#endif
}
