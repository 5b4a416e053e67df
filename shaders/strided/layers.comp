// An element an invocation times a value for each layer, in a grid of three dimensions with a guard for each.
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { uint width; uint height; uint depth; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer W { float w[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Z { float z[]; };

void main() {
    uvec3 at = gl_GlobalInvocationID;
    if (at.x >= width || at.y >= height || at.z >= depth) return;
    uint i = (at.z * height + at.y) * width + at.x;
    z[i] = x[i] * w[at.z];
}
