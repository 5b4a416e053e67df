// z[2 * i] = x[2 * i]: odd elements of z keep what they held.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uint i = 2 * gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = x[i];
}
