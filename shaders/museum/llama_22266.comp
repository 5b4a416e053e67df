// Root mean square normalization, written over its own input, and a product in place.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { float a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
shared float part[16];
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(NORM)
    part[l] = a[i] * a[i];
    barrier();
    for (uint step = 8; step > 0; step /= 2) {
        if (l < step) part[l] += part[l + step];
        barrier();
    }
    a[i] = a[i] * inversesqrt(part[0] / 16.0 + 1e-5);
#elif defined(MULTIPLY)
    b[i] = b[i] * a[l];
#endif
}
