// A tensor of 2 x 2 x 16 whose dimensions are permuted to 16 x 2 x 2 before it is used.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(SCALE)
    b[i] = 3 * a[i] + 1;
#elif defined(PERMUTE)
    b[i] = a[i % 2 * 32 + i / 2 % 2 * 16 + i / 4];
#endif
}
