// z = x + y on i32, one item per element.
#version 450
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer Y { int y[]; };
layout(std430, set = 0, binding = 2) buffer Z { int z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = x[i] + y[i];
}
