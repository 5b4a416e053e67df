// y[p[4] + i] = data + the sum of x[p[0] + i * p[1] + k] for k < p[2], or data + x[i] where p[3] is odd: every index and every
// condition depends on numbers that a buffer holds.
#version 450
layout(local_size_x = 32, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; uint data; };
layout(std430, set = 0, binding = 0) readonly buffer P { uint offset, stride, rounds, mode, results; };
layout(std430, set = 0, binding = 1) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 2) buffer Y { uint y[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    uint sum = data;
    if ((mode & 1u) != 0u) {
        sum += x[i];
    } else {
        uint last = rounds;
        for (uint k = 0; k < last; k++) sum += x[offset + i * stride + k];
    }
    y[results + i] = sum;
}
