// Every kind of atomic once, all invocations on the same words; the last one races with a plain read.
#version 450
layout(local_size_x = 16) in;
layout(std430, set = 0, binding = 0) buffer A {
    uint add; int smin; int smax; uint umin; uint umax; uint and_; uint or_; uint xor_; uint swap; uint cas; uint mixed;
} a;
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = atomicAdd(a.add, 2);
    atomicMin(a.smin, -int(i));
    atomicMax(a.smax, int(i) - 100);
    atomicMin(a.umin, 1000 - i);
    atomicMax(a.umax, i);
    atomicAnd(a.and_, ~(1u << (i & 31)));
    atomicOr(a.or_, 1u << (i & 31));
    atomicXor(a.xor_, i);
    atomicExchange(a.swap, 7);
    atomicCompSwap(a.cas, 5, 6);
#ifdef MIXED
    if (i == 3) z[0] = a.mixed;
    else atomicAdd(a.mixed, 1);
#endif
}
