// Writes its element perhaps, or a struct that has padding.
#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
struct Padded { uint8_t small; float large; };
layout(std430, binding = 2) buffer P { Padded p[]; };
layout(std430, binding = 3) buffer D { uint d[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(COPY)
    b[i] = a[i];
#elif defined(USE)
    d[i] = b[i] + 1;
#elif defined(MAYBE)
    for (uint k = 0; k < 4; k++) if (a[(i + k) % 256] > 200) return;
    b[i] = a[i];
#elif defined(PADDED)
    p[i].small = uint8_t(a[i]);
    p[i].large = float(a[i]);
#endif
}
