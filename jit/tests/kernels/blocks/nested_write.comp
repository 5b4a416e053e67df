// Arrays in a struct in a block.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
struct S { uint h; uint x[64]; uint y[64]; };
layout(set = 0, binding = 1) buffer T { uint first; S s; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    s.x[i] = a[i]; s.y[i] = a[i] * 3u + 1u;
}
