// Reads a buffer through a uniform block, while the next kernel writes it as a storage buffer.
#version 450
layout(local_size_x = 64) in;
layout(std140, binding = 0) uniform U { uvec4 u[64]; };
layout(std430, binding = 1) buffer B { uvec4 b[]; };
layout(std430, binding = 2) buffer C { uvec4 c[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(READ)
    b[i] = u[i] + uvec4(1);
#elif defined(WRITE)
    c[i] = 3 * b[i] + uvec4(5);
#endif
}
