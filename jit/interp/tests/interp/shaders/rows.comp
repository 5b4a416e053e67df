// Softmax of one row a group: reductions over shared memory in a loop with barriers.
#version 450
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(constant_id = 0) const uint SIZE = 16;
const uint HALF = SIZE / 2;
layout(push_constant) uniform Push { uint width; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
shared float tile[SIZE];
void reduce(bool sum) {
    uint own = gl_LocalInvocationID.x;
    for (uint step = HALF; step > 0; step /= 2) {
        barrier();
        if (own < step) tile[own] = sum ? tile[own] + tile[own + step] : max(tile[own], tile[own + step]);
    }
    barrier();
}
void main() {
    uint first = gl_WorkGroupID.x * width;
    uint own = gl_LocalInvocationID.x;
    float most = -1e30;
    for (uint i = own; i < width; i += SIZE) most = max(most, x[first + i]);
    tile[own] = most;
    reduce(false);
    most = tile[0];
    barrier();
    float total = 0;
    for (uint i = own; i < width; i += SIZE) total += exp(x[first + i] - most);
    tile[own] = total;
    reduce(true);
    for (uint i = own; i < width; i += SIZE) x[first + i] = exp(x[first + i] - most) / tile[0];
}
