// z = x of the next row, element by element.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; uint columns; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = x[(i + columns) % n];
}
