// z = the normal distribution function of x, by a polynomial (Abramowitz and Stegun 26.2.17).
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float v = x[i];
    float a = abs(v);
    float k = 1.0 / (1.0 + 0.2316419 * a);
    float p = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
    float tail = 0.39894228 * exp(-0.5 * a * a) * p;
    z[i] = v < 0.0 ? tail : 1.0 - tail;
}
