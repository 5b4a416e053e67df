#version 450
// Moves words, or sets them: no floats.
layout(local_size_x = 64) in;
#if defined(COPY)
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
#endif
layout(set = 0, binding = 1) buffer D { uint d[]; };
layout(push_constant) uniform P { uint n, word; } p;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < p.n) {
#if defined(COPY)
        d[i] = a[i];
#else
        d[i] = p.word;
#endif
    }
}
