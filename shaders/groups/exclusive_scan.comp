// Exclusive scan within each work-group, starting from `init`. The operator is a specialization constant:
// 0 plus, 1 minimum, 2 maximum, 3 times, 4 or, 5 exclusive or, 6 and.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint OPERATOR = 0;
layout(push_constant) uniform Push { uint init; };
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };

shared uint part[gl_WorkGroupSize.x];

uint combine(uint a, uint b) {
    switch (OPERATOR) {
        case 0: return a + b;
        case 1: return min(a, b);
        case 2: return max(a, b);
        case 3: return a * b;
        case 4: return a | b;
        case 5: return a ^ b;
        default: return a & b;
    }
}

void main() {
    uint own = gl_LocalInvocationID.x;
    part[own] = x[gl_GlobalInvocationID.x];
    barrier();
    uint sum = init;
    for (uint k = 0; k < own; ++k) {
        sum = combine(sum, part[k]);
    }
    z[gl_GlobalInvocationID.x] = sum;
}
