// Structs with an array inside, written by their items and read by neighbours.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { uint a[]; };
struct S { uint head; uint body[3]; };
layout(std430, binding = 1) buffer B { S s[]; };
layout(std430, binding = 2) buffer C { uint c[]; };
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(WRITE)
    s[i].head = a[i];
    for (uint k = 0; k < 3; k++) s[i].body[k] = a[i] * (k + 2);
#elif defined(READ)
    uint j = 16 * g + 15 - l;
    c[i] = s[j].head + 10 * s[j].body[0] + 100 * s[j].body[1] + 1000 * s[j].body[2];
#endif
}
