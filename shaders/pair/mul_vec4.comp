// z = x * y on four-component i32 vectors, one vector per item. `n` counts vectors.
#version 450
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { ivec4 x[]; };
layout(std430, set = 0, binding = 1) buffer Y { ivec4 y[]; };
layout(std430, set = 0, binding = 2) buffer Z { ivec4 z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = x[i] * y[i];
}
