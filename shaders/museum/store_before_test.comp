// Writes one element, and up to three more: the test comes after the store.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint more; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(DO)
    uint k = 0;
    do { b[4 * i + k] = a[i] + k; } while (k++ < more);
#elif defined(BREAK)
    for (uint k = 0; k < 4; k++) { b[4 * i + k] = a[i] + k; if (k >= more) break; }
#elif defined(SUM)
    b[i] = a[4 * i] + a[4 * i + 1] + a[4 * i + 2] + a[4 * i + 3];
#endif
}
