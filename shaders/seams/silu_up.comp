// z = silu(x) y, element by element.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Y { float y[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float v = x[i];
    z[i] = v / (1.0 + exp(-v)) * y[i];
}
