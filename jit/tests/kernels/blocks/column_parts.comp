// Matrices with more rows than columns, column-major, behind a header in a struct: columns, and one component.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
struct M { uint h; mat2x3 m; };
layout(set = 0, binding = 1, std430, column_major) buffer T { vec2 head; M t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float v = float(a[i]); t[i].m[0] = vec3(v, v + 1.0, v + 2.0); t[i].m[i & 1u][2] = v + 9.0; t[i].h = i;
}
