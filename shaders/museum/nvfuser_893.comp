// An update of the items there are, and sums of neighbours through shared memory, with a halo and a barrier that
// everybody has to reach.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint n; };
shared uint tile[17];
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(SCALE)
    if (i >= n) return;
    b[i] = 3 * a[i];
#elif defined(HALO)
    for (uint k = l; k < 17; k += 16) tile[k] = k < 16 ? a[16 * g + k] : 1000;
    barrier();
    b[i] = tile[l] + tile[l + 1];
#endif
}
