// Three starts and a shift, as push constants of kernels that hold them in another order.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint c[]; };

#if defined(UPDATE)
layout(push_constant) uniform Push { uint start0; uint start1; uint start2; uint n; };
#else
layout(push_constant) uniform Push { uint n; uint shift; };
#endif
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(CROP)
    b[i] = 3 * a[(i + shift) % n] - 1;
#elif defined(UPDATE)
    if (i >= start0 && i < start1 || i == start2) b[i] = a[i] + start0;
#elif defined(ROLL)
    c[i] = a[i] + b[(i + shift) % n];
#endif
}
