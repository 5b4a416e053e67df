// z = x * y on i32 over a width * height * depth range, one item per element.
#version 450
layout(local_size_x = 4, local_size_y = 2, local_size_z = 2, local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(push_constant) uniform Push { uint width; uint height; uint depth; };
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer Y { int y[]; };
layout(std430, set = 0, binding = 2) buffer Z { int z[]; };

void main() {
    uvec3 at = gl_GlobalInvocationID;
    if (at.x >= width || at.y >= height || at.z >= depth) return;
    uint i = (at.z * height + at.y) * width + at.x;
    z[i] = x[i] * y[i];
}
