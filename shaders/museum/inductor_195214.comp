// x / 3 rounded to 16 bits, each row's maximum of that, and how many elements equal it.
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer X { float x[]; };
layout(std430, binding = 1) buffer H { float16_t h[]; };
layout(std430, binding = 2) buffer C { float c[]; };
layout(std430, binding = 3) buffer D { uint d[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(SCALE)
    h[i] = float16_t(x[i] / 3.0);
#elif defined(MAXIMUM)
    float most = float(h[16 * g]);
    for (uint k = 1; k < 16; k++) most = max(most, float(h[16 * g + k]));
    if (l == 0) c[g] = most;
#elif defined(TIES)
    d[i] = float(h[i]) == c[g] ? 1 : 0;
#endif
}
