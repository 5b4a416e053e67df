// Two arrays of one block, written by one kernel and read by the next.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer Two { uint first[256]; uint second[256]; };
layout(std430, binding = 2) buffer Headed { uint head[4]; uint rest[]; };
layout(std430, binding = 3) buffer D { uint d[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(WRITE)
    first[i] = a[i] + 1;
    second[i] = 5 * a[i];
#elif defined(READ)
    d[i] = first[i] + second[i];
#elif defined(HEAD)
    if (i < 4) head[i] = a[i] + 7;
    rest[i] = a[i] + 1;
#elif defined(PLAIN)
    rest[i] = a[i] + 1;
#elif defined(WHOLE)
    d[i] = head[i % 4] + rest[i];
#endif
}
