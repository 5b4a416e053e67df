#version 450
// An array of descriptors: runs unfused only.
layout(local_size_x = 8) in;
layout(set = 0, binding = 1, std430) buffer Data { float v[]; } data[4];
void main() { data[2].v[gl_GlobalInvocationID.x] = data[1].v[0]; }
