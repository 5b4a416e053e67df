// x += flip(x) in place.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint n; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(FLIP)
    b[i] = a[n - 1 - i];
#elif defined(ADD)
    b[i] += a[i];
#endif
}
