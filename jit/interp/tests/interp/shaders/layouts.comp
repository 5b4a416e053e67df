// Structures, matrices and vectors in std140, std430 and scalar layout.
#version 450
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 1) in;
struct Part { vec3 v; float w; mat2x3 m; };
layout(std140, row_major, set = 0, binding = 0) uniform U { mat3x4 m; vec3 v; float s[3]; };
layout(std430, set = 0, binding = 1) buffer P { uint count; Part parts[]; };
layout(scalar, set = 1, binding = 0) buffer S { vec3 dense[]; };
layout(std430, set = 1, binding = 3) buffer Z { vec4 z[]; };
void main() {
    z[0] = m * v;
    z[1] = vec4(vec3(m[1].wzy), s[2]);
    z[2] = vec4(vec4(1, 2, 3, 4) * m, float(parts.length()));
    Part part = parts[1];
    z[3] = vec4(part.m * vec2(1, 10), part.w);
    z[4] = vec4(cross(parts[0].v, part.v), dot(parts[0].v, part.v));
    z[5] = vec4(dense[1], float(dense.length()));
    parts[0].m[1].y = 99;
    part.v.yz = part.v.zy;
    parts[count] = part;
    z[6] = vec4(transpose(mat2(1, 2, 3, 4))[0], normalize(vec2(3, 4)));
    z[7] = outerProduct(vec2(1, 2), vec2(3, 4))[1].xyxy;
    z[7][count] = 42;
}
