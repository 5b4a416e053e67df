// b = a * K + added on u32, one item per element: a specialization constant, a uniform buffer, push constants.
#version 450
layout(local_size_x = 64) in;
layout(constant_id = 3) const uint K = 1;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(std430, set = 0, binding = 1) writeonly buffer B { uint b[]; };
layout(std140, set = 0, binding = 2) uniform U { uint added; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    b[i] = a[i] * K + added;
}
