// d2 = d1 - sigma * sqrt(time).
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; float sigma; };
layout(std430, set = 0, binding = 0) buffer D1 { float d1[]; };
layout(std430, set = 0, binding = 1) buffer TIME { float time[]; };
layout(std430, set = 0, binding = 2) buffer D2 { float d2[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    d2[i] = d1[i] - sigma * sqrt(1.25 + time[i]);
}
