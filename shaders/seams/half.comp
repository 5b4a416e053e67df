// y = exp x for a part of y that begins at `first`.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; uint first; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    y[first + i] = exp(x[i]);
}
