// z = x after many rounds of the logistic map: much arithmetic for each byte.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; uint rounds; float r; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float v = abs(x[i]);
    for (uint k = 0; k < rounds; ++k) v = r * v * (1.0 - v);
    z[i] = v;
}
