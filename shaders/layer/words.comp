// Kernels on words for random programs under the layer that fuses. A compiled file holds one of them, whose body says what it does.
#version 450
#ifdef TURN
layout(local_size_x = 8, local_size_y = 8) in;
#else
layout(local_size_x = 64) in;
#endif
layout(constant_id = 0) const uint k = 3;
layout(push_constant) uniform Push { uint n; uint s; };
#ifdef SPLIT
#define PLACE(number) layout(std430, set = number > 0 ? 1 : 0, binding = number > 0 ? number - 1 : 0)
#else
#define PLACE(number) layout(std430, set = 0, binding = number)
#endif
PLACE(0) buffer A { uint a[]; };
#ifdef UNIFORM
layout(std140, set = 0, binding = 1) uniform B { uvec4 b[16]; };
#else
PLACE(1) buffer B { uint b[]; };
#endif
PLACE(2) buffer C { uint c[]; };
#ifdef SUM
shared uint sums[64];
#endif

void main() {
    uint i = gl_GlobalInvocationID.x;
#ifdef FULL
    c[i] = a[i] - b[i];
#elif defined(SUM)
    uint own = gl_LocalInvocationID.x;
    sums[own] = i < n ? a[i] * b[i] + s : 0;
    for (uint half_of = 32; half_of > 0; half_of /= 2) {
        barrier();
        if (own < half_of) sums[own] += sums[own + half_of];
    }
    if (own == 0) c[gl_WorkGroupID.x] = sums[0];
#elif defined(TURN)
    // n rows of s words become s rows of n.
    uint row = gl_GlobalInvocationID.y;
    if (i >= s || row >= n) return;
    c[i * n + row] = a[row * s + i] + k;
#else
    if (i >= n) return;
#if defined(MAP) || defined(SPLIT)
    c[i] = a[i] * k + (b[i] ^ s);
#elif defined(STEP)
    c[i] = c[i] * 5 + a[i] + s;
#elif defined(NEXT)
    c[i] = a[(i + s) % n] + b[i];
#elif defined(PICK)
    c[i] = a[b[i] % n];
#elif defined(PUT)
    atomicAdd(c[a[i] % n], b[i]);
#elif defined(EVEN)
    if (i % 2 == s % 2) return;
    c[i] = a[i] + k;
#elif defined(ROWS)
    uint sum = b[i];
    for (uint j = 0; j < 5; j++) sum = sum * k + a[(i * 8 + j) % n];
    c[i] = sum;
#elif defined(BOTH)
    uint value = a[i] + s;
    c[i] = value * 7;
    b[i] ^= value;
#elif defined(FLOATS)
    c[i] = floatBitsToUint(float(a[i] & 0xffff) * float(b[i] & 0xffff));
#elif defined(UNIFORM)
    c[i] = a[i] * 3 + b[i % 16][i % 4] + s;
#endif
#endif
}
