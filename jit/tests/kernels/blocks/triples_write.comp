// Elements of twelve bytes, behind a header.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
struct R { uint x; uint y; uint w; };
layout(set = 0, binding = 1) buffer T { uint h; R t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    t[i].x = a[i] + 1u; t[i].y = a[i] + 2u; t[i].w = a[i] + 3u;
}
