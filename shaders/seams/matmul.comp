// c = a b, with a tile of 16 x 16 for each work-group; a is rows x inner, b is inner x columns.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { uint rows; uint columns; uint inner; };
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { float b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer C { float c[]; };

shared float left[16][16];
shared float right[16][16];

void main() {
    uvec2 own = gl_LocalInvocationID.xy;
    uvec2 at = gl_GlobalInvocationID.xy;
    float sum = 0.0;
    for (uint first = 0; first < inner; first += 16) {
        uint across = first + own.x, down = first + own.y;
        left[own.y][own.x] = at.y < rows && across < inner ? a[at.y * inner + across] : 0.0;
        right[own.y][own.x] = at.x < columns && down < inner ? b[down * columns + at.x] : 0.0;
        barrier();
        for (uint k = 0; k < 16; k++) sum += left[own.y][k] * right[k][own.x];
        barrier();
    }
    if (at.x < columns && at.y < rows) c[at.y * columns + at.x] = sum;
}
