// Blocks in shared memory, which lie over each other.
#version 460
#extension GL_EXT_shared_memory_block : require
layout(local_size_x = 16) in;
layout(std430, set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(std430, set = 0, binding = 1) buffer B { uint b[]; };
#if defined(MEMBERS)
// The same words as an array and as members with gaps between them.
shared X { uint x[64]; };
shared Y { layout(offset = 16) uint first; layout(offset = 60) uint last; };
#elif defined(FLOATS)
shared X { uint x[16]; };
shared Y { float y[16]; };
#else
shared X { uint x[16]; };
shared Y { uvec2 y[LENGTH]; };
#endif
void main() {
    uint l = gl_LocalInvocationIndex, i = gl_GlobalInvocationID.x;
#if defined(PARTS)
    // Half of the words are never written.
    if (l < 8) x[l] = a[i];
#else
    x[l] = a[i];
#endif
#ifndef RACE
    barrier();
#endif
#if defined(MEMBERS)
    b[i] = l == 0 ? first : last;
#elif defined(FLOATS)
    b[i] = uint(y[15 - l]);
#elif defined(ADDED)
    atomicAdd(y[0].y, 1);
    barrier();
    b[i] = x[1];
#else
    uvec2 v = y[(OTHER) / 2u];
    b[i] = ((OTHER) & 1u) == 0u ? v.x : v.y;
#endif
}
