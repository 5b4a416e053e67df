// Steps of training: the gradient of (w - a)^2, and w moved against it in place.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { float a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
layout(std430, binding = 2) buffer C { float c[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(GRADIENT)
    c[i] = 2.0 * (b[i] - a[i]);
#elif defined(DESCEND)
    b[i] -= 0.25 * c[i];
#endif
}
