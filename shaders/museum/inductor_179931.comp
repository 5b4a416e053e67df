// Rows of 13 elements next to each other, each written by a work-group of 16, and each row's sum.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x;

void main() {
#if defined(POOL)
    if (l < 13) b[13 * g + l] = a[26 * g + 2 * l] + a[26 * g + 2 * l + 1];
#elif defined(SUM)
    uint sum = 0;
    for (uint k = 0; k < 13; k++) sum += a[13 * g + k];
    if (l == 0) b[g] = sum;
#endif
}
