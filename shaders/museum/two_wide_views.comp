// A float is stored between two accesses of the same element as an unsigned number.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer U { uint u[]; };
layout(std430, binding = 0) buffer F { float f[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(FIRST)
    u[i] = u[i] + 1;
#elif defined(FLOAT)
    f[i] = float(i) * 0.5;
#elif defined(SECOND)
    b[i] = u[i] * 3;
#endif
}
