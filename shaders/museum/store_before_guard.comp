// Clears all elements and sets the first n of them; then adds to the first n.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint n; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(SET)
    b[i] = 0;
    if (i >= n) return;
    b[i] = 1;
#elif defined(ADD)
    if (i >= n) return;
    b[i] += a[i];
#endif
}
