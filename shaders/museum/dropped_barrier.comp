// Neighbours in a work-group exchange elements.
#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 256 + l;

void main() {
#if defined(WRITE)
    b[i] = a[i] + 1;
#elif defined(MIRROR)
    b[i] = a[256 * g + 255 - l];
#endif
}
