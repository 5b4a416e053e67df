// An element an invocation, whose row and column the index is made of again, with `by` elements from row to row.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; uint columns; uint by; uint shift; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer W { float w[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    uint row = i / columns, column = i - row * columns;
    z[row * by + column] = x[row * by + column] * w[column];
}
