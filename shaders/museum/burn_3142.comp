// A product with a scalar, the sum of every 16 elements, and scalars again after it.
#version 450
layout(local_size_x = 16) in;
layout(push_constant) uniform Push { uint scalar; uint other; };
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(SCALE)
    b[i] = a[i] * scalar + other;
#elif defined(SUM)
    uint sum = 0;
    for (uint k = 0; k < 16; k++) sum += a[16 * g + k];
    b[i] = sum;
#endif
}
