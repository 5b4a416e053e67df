#version 450
// The block's structure goes to functions by value.
struct S { uint n, stride, off; };
struct Deep { uint zero; S s[2]; uvec2 more; };
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer D { float d[]; };
#if defined(DEEP)
layout(push_constant) uniform P { Deep deep; } p;
#elif defined(UNIFORM)
layout(set = 0, binding = 2) uniform P { S s; } p;
#elif defined(STORAGE)
layout(set = 0, binding = 2) readonly buffer P { S s; } p;
#else
layout(push_constant) uniform P { S s; } p;
#endif

void work(uint i, S s) { if (i < s.n) d[i * s.stride + s.off] = 2 * a[i * s.stride + s.off]; }
S changed(S s) { s.off += 0; s.stride = max(s.stride, 1); return s; }
S of(Deep deep) { S s = deep.s[1]; s.n = deep.more.y; return s; }

void main() {
#if defined(NAMED)
    uint i = gl_GlobalInvocationID.x;
    if (i < p.s.n) d[i * p.s.stride + p.s.off] = 2 * a[i * p.s.stride + p.s.off];
#elif defined(CHANGED)
    work(gl_GlobalInvocationID.x, changed(p.s));
#elif defined(CHOSEN)
    S s = S(0, 1, 0);
    if (p.s.n > 3) s = p.s;
    work(gl_GlobalInvocationID.x, s);
#elif defined(DEEP)
    work(gl_GlobalInvocationID.x, of(p.deep));
#else
    work(gl_GlobalInvocationID.x, p.s);
#endif
}
