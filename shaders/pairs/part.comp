// A matrix as columns of a larger one, by elements or on a grid: what a concatenation of rows submits for each of its parts.
#version 450
#if defined GRID
layout(local_size_x = 16, local_size_y = 16) in;
#else
layout(local_size_x = 256) in;
#endif
layout(push_constant) uniform Push { uint rows; uint columns; uint row; uint first; };
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 2) writeonly buffer D { float d[]; };

void main() {
#if defined GRID
    uint r = gl_GlobalInvocationID.y, c = gl_GlobalInvocationID.x;
    if (r >= rows || c >= columns) return;
#else
    uint i = gl_GlobalInvocationID.x;
    if (i >= rows * columns) return;
    uint r = i / columns, c = i % columns;
#endif
    d[r * row + first + c] = a[r * columns + c];
}
