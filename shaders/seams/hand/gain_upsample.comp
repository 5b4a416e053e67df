// `gain` and `upsample` in one kernel.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { uint width; uint height; float gain; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= 2 * width || at.y >= 2 * height) return;
    y[at.y * 2 * width + at.x] = gain * x[(at.y / 2) * width + at.x / 2];
}
