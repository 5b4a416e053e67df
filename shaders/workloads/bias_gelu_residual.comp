// The three kernels of bias, GELU and residual by hand as one.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; uint columns; };
layout(std430, set = 0, binding = 0) readonly restrict buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly restrict buffer BIAS { float bias[]; };
layout(std430, set = 0, binding = 2) readonly restrict buffer R { float residual[]; };
layout(std430, set = 0, binding = 3) writeonly restrict buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    precise float v = x[i] + bias[i % columns];
    precise float u = clamp(0.7978845608 * (v + 0.044715 * v * v * v), -10.0, 10.0);
    precise float e = exp(2.0 * u);
    precise float g = 0.5 * v * (1.0 + (e - 1.0) / (e + 1.0));
    precise float last = g + residual[i];
    z[i] = last;
}
