// x = x * factor in place on i32, one item per element.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; int factor; };
layout(std430, set = 0, binding = 0) buffer X { int x[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    x[i] = x[i] * factor;
}
