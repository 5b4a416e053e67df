#version 460
// Blocks in shared memory: each invocation reads what the one on the other side wrote.
#extension GL_EXT_shared_memory_block : require
layout(local_size_x = 16) in;
layout(std430, set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(std430, set = 0, binding = 1) buffer B { uint b[]; };
#if defined(ALIAS)
shared X { uint x[16]; };
shared Y { uvec2 y[8]; };
#elif defined(FLOATS)
shared X { uint x[16]; };
shared Y { float y[16]; };
#else
shared X { layout(offset = 64) uint x[16]; };
#endif
void main() {
    uint l = gl_LocalInvocationIndex, i = gl_GlobalInvocationID.x;
    x[l] = a[i];
    barrier();
#if defined(ALIAS)
    uvec2 v = y[(15u - l) / 2u];
    b[i] = ((15u - l) & 1u) == 0u ? v.x : v.y;
#elif defined(FLOATS)
    b[i] = floatBitsToUint(y[15u - l]);
#else
    b[i] = x[15u - l];
#endif
}
