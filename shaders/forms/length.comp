// The bound is the length of the bound range, not a push constant: z[i] = 2 * x[i] for i < z.length().
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= z.length()) return;
    z[i] = 2.0 * x[i];
}
