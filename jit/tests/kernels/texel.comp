#version 450
// A texel buffer: runs unfused only.
layout(local_size_x = 8) in;
layout(set = 0, binding = 7, r32f) uniform imageBuffer texels;
void main() { imageStore(texels, int(gl_GlobalInvocationID.x), vec4(1)); }
