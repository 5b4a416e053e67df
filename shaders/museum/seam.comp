// Pairs of floating-point functions that a compiler may simplify if it sees both.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { float a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(LOG)
    b[i] = log(a[i]);
#elif defined(EXP)
    b[i] = exp(a[i]);
#elif defined(EXP2)
    b[i] = exp2(a[i]);
#elif defined(LOG2)
    b[i] = log2(a[i]);
#elif defined(SQRT)
    b[i] = sqrt(a[i]);
#elif defined(FLOOR)
    b[i] = floor(a[i]);
#elif defined(FRACT)
    b[i] = fract(a[i]);
#elif defined(RCP)
    b[i] = 1.0 / a[i];
#elif defined(NEGEXP)
    b[i] = exp(-a[i]);
#elif defined(RSQRT)
    b[i] = inversesqrt(a[i]);
#elif defined(DEGREES)
    b[i] = degrees(a[i]);
#elif defined(RADIANS)
    b[i] = radians(a[i]);
#elif defined(CLAMP0)
    b[i] = max(a[i], 0.0);
#elif defined(CLAMP1)
    b[i] = min(a[i], 1.0);
#elif defined(FMA)
    b[i] = fma(a[i], 0.3, 0.7);
#elif defined(MIX)
    b[i] = mix(a[i], 1.7, 0.3);
#elif defined(LDEXP)
    b[i] = ldexp(a[i], 100);
#elif defined(LDEXP_BACK)
    b[i] = ldexp(a[i], -130);
#elif defined(TIMES)
    b[i] = a[i] * 1.1;
#elif defined(ZERO)
    b[i] = a[i] / 0.0;
#elif defined(PLUS)
    b[i] = a[i] + 0.3;
#endif
}
