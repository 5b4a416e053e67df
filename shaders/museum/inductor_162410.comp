// x = x with its rows reversed; y = y + its row's sum; x + y. One work-group for each row.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint c[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(FLIP)
    b[i] = a[16 * g + 15 - l];
#elif defined(COPY)
    b[i] = a[i];
#elif defined(SUM)
    uint sum = 0;
    for (uint k = 0; k < 16; k++) sum += a[16 * g + k];
    if (l == 0) b[g] = sum;
#elif defined(SPREAD)
    c[i] = a[i] + b[g];
#elif defined(ADD)
    c[i] = a[i] + b[i];
#endif
}
