// `gain`, a transposition and `add` in one kernel: z = transposed(gain x) + y.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { uint width; uint height; float gain; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Y { float y[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Z { float z[]; };

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= height || at.y >= width) return;
    uint to = at.y * height + at.x;
    z[to] = gain * x[at.x * width + at.y] + y[to];
}
