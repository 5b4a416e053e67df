// A layer of 9 outputs a row, and on top of it one with a single output a row.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { int a[]; };
layout(std430, binding = 1) buffer B { int b[]; };
layout(std430, binding = 2) buffer C { int c[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x;

void main() {
#if defined(HIDDEN)
    if (l < 9) {
        int sum = 0;
        for (uint k = 0; k < 4; k++) sum += a[4 * g + k] * b[4 * l + k];
        c[9 * g + l] = max(sum, 0);
    }
#elif defined(HEAD)
    int sum = 0;
    for (uint k = 0; k < 9; k++) sum += a[9 * g + k] * b[k];
    if (l == 0) c[g] = sum;
#endif
}
