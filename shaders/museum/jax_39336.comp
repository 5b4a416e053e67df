// p + alpha * (A B + bias).
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { int a[]; };
layout(std430, binding = 1) buffer B { int b[]; };
layout(std430, binding = 2) buffer C { int c[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(PRODUCT)
    int sum = 0;
    for (uint k = 0; k < 8; k++) sum += a[i / 8 * 8 + k] * b[8 * k + i % 8];
    c[i] = sum;
#elif defined(BIAS)
    b[i] += a[i % 8];
#elif defined(ALPHA)
    b[i] = a[i] * 64;
#elif defined(POINT)
    c[i] = a[i] + b[i];
#endif
}
