// c = a + b, where b may have fewer elements and is repeated.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint c[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
#if defined(ADD)
    c[i] = a[i] + b[i % n];
#endif
}
