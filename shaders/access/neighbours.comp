// z[i] = x[i - 1] + x[i + 1], with nothing beyond the ends.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float left = i > 0 ? x[i - 1] : 0.0;
    float right = i + 1 < n ? x[i + 1] : 0.0;
    z[i] = left + right;
}
