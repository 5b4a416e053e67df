// Scalars of one width seen as another, packed vectors, modf, ldexp, vector comparisons and choices.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) buffer X { uvec2 pair; vec4 v; int e; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };
void main() {
    uint64_t wide = packUint2x32(pair);
    wide += 1;
    uvec2 split = unpackUint2x32(wide);
    z[0] = split.x;
    z[1] = split.y;
    u16vec4 quarters = unpackUint4x16(wide);
    z[2] = uint(quarters.z);
    z[3] = packUnorm4x8(v);
    z[4] = packSnorm2x16(v.xy);
    vec4 back = unpackUnorm4x8(z[3]);
    z[5] = floatBitsToUint(back.y);
    float whole;
    z[6] = floatBitsToUint(modf(v.w, whole));
    z[7] = floatBitsToUint(whole);
    z[8] = floatBitsToUint(ldexp(v.x, e));
    z[9] = any(lessThan(v, vec4(-100))) ? 1u : 2u;
    z[10] = floatBitsToUint(mix(v, v.wzyx, greaterThan(v, vec4(0.3))).x);
    z[11] = floatBitsToUint(unpackHalf2x16(0xbc003800u).y);
    z[12] = uint(double(v.w) * 1000.0lf);
    z[13] = floatBitsToUint(reflect(v.xy, vec2(0, 1)).y);
    z[14] = floatBitsToUint(faceforward(v.x, v.x, v.x));
    z[15] = floatBitsToUint(distance(v.xy, v.xy + vec2(3, 4)));
}
