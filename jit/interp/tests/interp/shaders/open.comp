// Functions with some results that GLSL leaves undefined.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };
void main() {
    uint g = gl_GlobalInvocationID.x;
    z[2 * g] = inversesqrt(x[g]);
    z[2 * g + 1] = pow(x[g], 2.0);
}
