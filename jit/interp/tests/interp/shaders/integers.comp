// Integer arithmetic of all kinds on pairs of operands.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };
void main() {
    uint g = gl_GlobalInvocationID.x;
    uint a = x[2 * g], b = x[2 * g + 1];
    int sa = int(a), sb = int(b);
    uint o = 32 * g;
    z[o++] = a + b;
    z[o++] = a - b;
    z[o++] = a * b;
    z[o++] = a / b;
    z[o++] = a % b;
    z[o++] = uint(sa / sb);
    z[o++] = uint(sa >> (b & 31));
    z[o++] = a >> (b & 31);
    z[o++] = a << (b & 31);
    z[o++] = a & b | a ^ ~b;
    z[o++] = uint(min(sa, sb));
    z[o++] = min(a, b);
    z[o++] = uint(clamp(sa, -5, 5));
    z[o++] = uint(abs(sa));
    z[o++] = uint(sign(sa));
    z[o++] = uint(findLSB(a));
    z[o++] = uint(findMSB(a));
    z[o++] = uint(findMSB(sa));
    z[o++] = bitCount(a);
    z[o++] = bitfieldReverse(a);
    z[o++] = bitfieldExtract(a, 3, 7);
    z[o++] = uint(bitfieldExtract(sa, 28, 4));
    z[o++] = bitfieldInsert(a, b, 5, 9);
    uint carry, borrow, high, low;
    z[o++] = uaddCarry(a, b, carry);
    z[o++] = carry;
    z[o++] = usubBorrow(a, b, borrow);
    z[o++] = borrow;
    umulExtended(a, b, high, low);
    z[o++] = high;
    z[o++] = uint(sa < sb) | uint(a < b) << 1 | uint(a == b) << 2;
    uint64_t wide = uint64_t(a) * b + 1;
    z[o++] = uint(wide >> 32);
    z[o++] = uint(uint8_t(a)) + (uint(uint16_t(b)) << 8);
    z[o++] = uint(int(int8_t(sa)) * int(int16_t(sb)));
}
