// Embedding rows of 32 bits, to which values of bfloat16 are added in place, normalized by their root mean square.
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
layout(std430, binding = 2) buffer C { float c[]; };
layout(std430, binding = 3) buffer H { uint16_t h[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(EMBED)
    c[i] = b[16 * a[g] + l];
#elif defined(MIX)
    b[i] += uintBitsToFloat(uint(h[i]) << 16);
#elif defined(SQUARE)
    float sum = 0;
    for (uint k = 0; k < 16; k++) sum += b[16 * g + k] * b[16 * g + k];
    if (l == 0) c[g] = sum;
#elif defined(NORM)
    b[i] = b[i] * inversesqrt(c[g] / 16.0 + 1e-6);
#endif
}
