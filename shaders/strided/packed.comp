// Four elements an invocation that are next to each other, in a grid of three dimensions with a guard for each.
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { uint width; uint height; uint depth; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Z { float z[]; };

void main() {
    uvec3 at = gl_GlobalInvocationID;
    if (at.x >= width || at.y >= height || at.z >= depth) return;
    uint first = ((at.z * height + at.y) * width + at.x) * 4;
    for (uint lane = 0; lane < 4; lane++) z[first + lane] = x[first + lane] * 2.0;
}
