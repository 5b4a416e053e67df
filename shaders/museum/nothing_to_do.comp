// Guarded by n, which may be 0.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint n; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(FIRST)
    if (i < n) b[i] = b[i] + a[i];
#elif defined(SECOND)
    if (i < n) b[i] = 2 * a[i];
#endif
}
