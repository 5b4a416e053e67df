// A cache of rows: row `at` is appended, then the rows so far are summed, weighted by their number.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint at; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(APPEND)
    b[64 * at + i] = a[i] + at;
#elif defined(ATTEND)
    uint sum = 0;
    for (uint k = 0; k <= at; k++) sum += (k + 1) * a[64 * k + i];
    b[64 * at + i] = sum;
#endif
}
