#version 450
// A word as its halves.
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer H { uint16_t h[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    h[2u * i] = uint16_t(uint(h[2u * i]) + 7u);
    h[2u * i + 1u] = uint16_t(uint(h[2u * i]) * 3u);
}
