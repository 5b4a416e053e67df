// Arrays in a struct in a block.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
struct S { uint h; uint x[64]; uint y[64]; };
layout(set = 0, binding = 0) buffer T { uint first; S s; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = s.x[i] * 1000u + s.y[i];
}
