// Element 4m + 3i is written, element 5m + 3i is read, m from memory and below 100.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint c[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(WRITE)
    uint m = a[0];
    if (m < 100) c[4 * m + 3 * i] = b[i];
#elif defined(READ)
    uint m = a[0];
    if (m < 100) c[i] = b[5 * m + 3 * i];
#endif
}
