// Attention in two chunks: scores of a chunk, their sum added to the sum so far, and values weighted by them added
// to the output so far. One work-group for each head.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint c[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(SCORE)
    c[i] = a[i] * b[g] + 1;
#elif defined(ZERO)
    a[i] = 0;
#elif defined(TOTAL)
    uint sum = 0;
    for (uint k = 0; k < 16; k++) sum += a[16 * g + k];
    if (l == 0) b[16 * g] += sum;
#elif defined(WEIGH)
    uint sum = 0;
    for (uint k = 0; k < 16; k++) sum += a[16 * g + k] * b[16 * g + (k + l) % 16];
    c[i] += sum;
#elif defined(DIVIDE)
    b[i] = b[i] * 1000 / a[16 * g];
#endif
}
