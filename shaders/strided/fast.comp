// An element an invocation, whose row is found by a multiplication and a shift.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; uint columns; uint by; uint shift; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer W { float w[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Z { float z[]; };

uint row_of(uint i) {
    uint high, low;
    umulExtended(i, by, high, low);
    return (high + i) >> shift;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    uint row = row_of(i), column = i - row * columns;
    z[row * columns + column] = x[row * columns + column] * w[column];
}
