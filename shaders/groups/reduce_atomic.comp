// Sum and maximum of x through one atomic each per item. The caller sets both results to the neutral element.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer SUM { uint sum[]; };
layout(std430, set = 0, binding = 2) buffer MOST { uint most[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    atomicAdd(sum[0], x[i]);
    atomicMax(most[0], x[i]);
}
