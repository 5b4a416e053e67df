#version 450
// Float arithmetic of every kind that a driver may contract, some of it already `precise`.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0, std430) buffer Data { vec4 v[]; };
layout(set = 0, binding = 1, std430) buffer Mats { mat4 m[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    precise vec4 p = v[i] * 2.0 + v[i + 1];
    mediump float q = dot(p, v[i]) - mod(p.x, 3.0) * p.y;
    mat4 n = m[i] * m[0] * q;
    v[i] = n * -p / q + p * n + outerProduct(p, v[i])[1];
}
