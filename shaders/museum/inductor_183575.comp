// m += (g - m) / 20 in place; p -= m / 100; then a temporary that a planner might put in the place of m.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { float a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
layout(std430, binding = 2) buffer C { float c[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(LERP)
    b[i] += (a[i] - b[i]) * 0.05;
#elif defined(STEP)
    c[i] += -0.01 * b[i];
#elif defined(CAST)
    c[i] = floor(a[i] * 256.0);
#endif
}
