#version 450
// Reads only the global id.
layout(local_size_x = 4, local_size_y = 4) in;
layout(set = 0, binding = 0, std430) buffer Data { float v[]; };
void main() {
    uvec3 g = gl_GlobalInvocationID;
    v[g.y * 16u + g.x] = float(gl_WorkGroupSize.x);
}
