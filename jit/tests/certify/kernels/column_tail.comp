#version 450
// Reads what lies between the components of that column.
layout(local_size_x = 64) in;
layout(std430, row_major, binding = 0) readonly buffer T { mat4 t[]; };
layout(binding = 1) buffer O { float o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i] = t[i][1].x + t[i][0].z;
}
