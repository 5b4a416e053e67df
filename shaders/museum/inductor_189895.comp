// Zeros before x, and the sum of every 16 elements of what comes out.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint front; uint n; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(PAD)
    b[i] = i >= front && i - front < n ? a[i - front] : 0;
#elif defined(SUM)
    uint sum = 0;
    for (uint k = 0; k < 16; k++) sum += a[16 * g + k];
    if (l == 0) b[g] = sum;
#endif
}
