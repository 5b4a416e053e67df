// z = x + a value for each column, element by element.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; uint columns; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { float b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = x[i] + b[i % columns];
}
