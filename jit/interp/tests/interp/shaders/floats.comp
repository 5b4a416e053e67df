// Float arithmetic on pairs of operands.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };
layout(std430, set = 0, binding = 2) buffer B { uint bits[]; };
void main() {
    uint g = gl_GlobalInvocationID.x;
    precise float a = x[2 * g], b = x[2 * g + 1];
    uint o = 24 * g;
    z[o++] = a + b;
    z[o++] = a - b;
    z[o++] = a * b;
    z[o++] = a / b;
    z[o++] = sqrt(abs(a));
    z[o++] = floor(a);
    z[o++] = ceil(a);
    z[o++] = trunc(a);
    z[o++] = roundEven(a);
    z[o++] = fract(a);
    z[o++] = min(a, b);
    z[o++] = max(a, b);
    z[o++] = clamp(a, -1.0, 1.0);
    z[o++] = fma(a, b, a);
    z[o++] = -a;
    z[o++] = sign(a);
    z[o++] = step(a, b);
    z[o++] = exp(a);
    z[o++] = float(int(a));
    z[o++] = float(uint(abs(a)));
    z[o++] = float(double(a) * double(b));
    float16_t h = float16_t(a) * float16_t(b);
    z[o++] = float(h);
    z[o++] = uintBitsToFloat(packHalf2x16(vec2(a, b)));
    int e;
    z[o++] = frexp(a, e) + float(e);
    bits[g] = uint(isnan(a)) | uint(isinf(a)) << 1 | uint(a < b) << 2 | uint(a != b) << 3 | uint(a == b) << 4;
}
