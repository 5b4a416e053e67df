// z = x + y on i32, four consecutive elements per item. `n` counts items, the buffers hold 4 * n.
#version 450
layout(local_size_x = 8, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer Y { int y[]; };
layout(std430, set = 0, binding = 2) buffer Z { int z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    for (uint k = 0; k < 4; ++k) {
        z[4 * i + k] = x[4 * i + k] + y[4 * i + k];
    }
}
