// base = x + 1; base[1..] = base[..n - 1], by way of a copy.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint n; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(BASE)
    b[i] = a[i] + 1;
#elif defined(SLICE)
    b[i] = a[i];
#elif defined(UPDATE)
    if (i + 1 < n) b[i + 1] = a[i];
#endif
}
