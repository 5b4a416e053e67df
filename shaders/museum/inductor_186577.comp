// Rows centred and scaled, and 1 / (|x| + 1e-6) of the result.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { float a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(NORM)
    float mean = 0, square = 0;
    for (uint k = 0; k < 16; k++) mean += a[16 * g + k];
    mean /= 16.0;
    for (uint k = 0; k < 16; k++) square += (a[16 * g + k] - mean) * (a[16 * g + k] - mean);
    b[i] = (a[i] - mean) * inversesqrt(square / 16.0 + 1e-5);
#elif defined(RECIPROCAL)
    b[i] = 1.0 / (abs(a[i]) + 1e-6);
#endif
}
