#version 450
// A volatile buffer: runs unfused only.
layout(local_size_x = 8) in;
layout(set = 0, binding = 6, std430) volatile buffer Data { float v[]; };
void main() { v[gl_GlobalInvocationID.x] += 1.0; }
