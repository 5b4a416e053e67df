#version 450
// Pairs of a word and a float.
layout(local_size_x = 64) in;
struct Pair { uint a; float b; };
layout(set = 0, binding = 0) buffer P { Pair p[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    Pair q = p[i];
    q.a += floatBitsToUint(q.b);
    p[i] = q;
    p[i].b = uintBitsToFloat(p[i].a * 3u);
}
