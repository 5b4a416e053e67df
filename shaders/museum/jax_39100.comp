// Two results of one kernel, which get new values in one part each, and their sum.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint c[]; };
layout(push_constant) uniform Push { uint from; uint to; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(SPLIT)
    b[i] = a[i] + 1; c[i] = a[i] + 2;
#elif defined(FIRST)
    if (i >= from && i < to) b[i] = 10 * a[i];
#elif defined(SECOND)
    if (i >= from && i < to) b[i] = 100 * a[i];
#elif defined(ADD)
    c[i] = a[i] + b[i];
#endif
}
