// z = gelu(x), by the approximation with the hyperbolic tangent.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float v = x[i];
    float u = clamp(0.7978845608 * (v + 0.044715 * v * v * v), -10.0, 10.0);
    float e = exp(2.0 * u);
    z[i] = 0.5 * v * (1.0 + (e - 1.0) / (e + 1.0));
}
