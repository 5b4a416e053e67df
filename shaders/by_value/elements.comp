#version 450
// Elements are structures that functions take and return by value.
struct Inner { float v[2]; uint k; };
struct Element { Inner inner; vec2 more; };
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) readonly buffer A { Element a[]; };
layout(set = 0, binding = 1, std430) buffer D { Element d[]; };
layout(push_constant) uniform P { uint n; } p;

Element doubled(Element e) {
    e.inner.v[0] *= 2;
    e.inner.v[1] *= 2;
    e.more = e.more.yx * 2;
    return e;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= p.n) return;
#if defined(LOOPED)
    Element e = a[i];
    for (uint k = 0; k < 1; k++) e = doubled(e);
    d[i] = e;
#elif defined(CHOSEN)
    Element e = a[i];
    Element f = doubled(e);
    if (e.inner.k > 100000) f = e;
    d[i] = f;
#else
    d[i] = doubled(a[i]);
#endif
}
