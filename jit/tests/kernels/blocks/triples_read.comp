// Elements of twelve bytes from the start of the block: none of them begins where one of the other kernel does.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
struct R { uint x; uint y; uint w; };
layout(set = 0, binding = 0) buffer T { R t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = t[i].y * 1000u + t[i].w;
}
