// y = 2x + 1 for n items, and sums of every 16 of them, where the last work-group has items to spare.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint n; };
shared uint part[16];
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(SCALE)
    if (i < n) b[i] = 2 * a[i] + 1;
#elif defined(SUM)
    part[l] = i < n ? a[i] : 0;
    barrier();
    for (uint step = 8; step > 0; step /= 2) {
        if (l < step) part[l] += part[l + step];
        barrier();
    }
    if (l == 0) b[g] = part[0];
#endif
}
