// x[index] = 2x, then x += flip(x): the copy back into x meets a read of x at other places.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint c[]; };
layout(push_constant) uniform Push { uint n; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(PUT)
    c[b[i]] = 2 * a[i];
#elif defined(COPY)
    b[i] = a[i];
#elif defined(FLIP)
    b[i] = a[n - 1 - i];
#elif defined(ADD)
    b[i] += a[i];
#endif
}
