// A mask made of two parts, rows masked by it, and four more rows after them.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint c[]; };
layout(push_constant) uniform Push { uint first; uint n; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(MASK)
    if (i < n) c[i] = i < first ? a[i] : b[i - first];
#elif defined(APPLY)
    if (i < n) c[i] = a[i] != 0 ? b[i] : 0;
#elif defined(APPEND)
    if (i < n + 4) c[i] = i < n ? a[i] : b[i - n];
#endif
}
