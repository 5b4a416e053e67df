#version 450
// Doubles as many elements as a uniform buffer says, from the one that it says; the numbers have padding between them.
layout(local_size_x = 64) in;
#if defined(WORDS)
#define T uint
#else
#define T float
#endif
layout(set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 1) buffer D { T d[]; };
layout(set = 0, binding = 2) uniform U { uvec4 u[2]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < u[0].y) d[i + u[1].x] = 2 * a[i + u[1].x];
}
