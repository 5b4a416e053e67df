// Two variables on one binding, and the length of both.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 1) buffer P { uvec2 p[]; };
layout(std430, binding = 2) buffer C { uint c[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(WRITE)
    b[i] = a[i] + uint(b.length()) + uint(p.length());
#elif defined(READ)
    c[i] = b[i] + 3 * uint(b.length()) + uint(p.length());
#endif
}
