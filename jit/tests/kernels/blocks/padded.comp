#version 450
// An array of floats in a uniform block: std140 has one every 16 bytes.
layout(local_size_x = 16) in;
layout(binding = 0, std140) uniform Weights { float weights[16]; };
layout(binding = 1, std430) buffer Out { float values[]; };
void main() { values[gl_GlobalInvocationID.x] = weights[gl_GlobalInvocationID.x]; }
