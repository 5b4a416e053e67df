// d = s * x, then d += z, where d and z may be one buffer.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { float a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(COPY)
    b[i] = a[i] * 0.5;
#elif defined(ADD)
    b[i] += a[i];
#endif
}
