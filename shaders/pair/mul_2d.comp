// z = x * y on i32 over a width * height range, one item per element, rows one after the other.
// The dispatch is rounded up, so both coordinates are guarded.
#version 450
layout(local_size_x = 8, local_size_y = 4, local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { uint width; uint height; };
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer Y { int y[]; };
layout(std430, set = 0, binding = 2) buffer Z { int z[]; };

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= width || at.y >= height) return;
    uint i = at.y * width + at.x;
    z[i] = x[i] * y[i];
}
