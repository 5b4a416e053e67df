// z = gain * x + offset of every pixel.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { uint width; uint height; float gain; float offset; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= width || at.y >= height) return;
    uint i = at.y * width + at.x;
    z[i] = gain * x[i] + offset;
}
