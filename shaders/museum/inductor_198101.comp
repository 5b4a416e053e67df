// y = 2x over x seen as 32-bit numbers, y += 4 in place, and then x seen as 64-bit numbers gets new columns.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer W { uvec2 w[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(DOUBLE)
    b[i] = 2 * a[i];
#elif defined(SHIFT)
    b[i] += 4;
#elif defined(COLUMNS)
    if (i % 6 >= 2 && i % 6 < 5) w[i] = uvec2(2, 0);
#endif
}
