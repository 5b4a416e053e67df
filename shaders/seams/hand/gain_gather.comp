// `gain` and a gather by an index buffer in one kernel.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; float gain; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer From { uint from[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    y[i] = gain * x[from[i]];
}
