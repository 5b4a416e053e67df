#version 450
// A word as its four bytes.
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer B { uint8_t b[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    for (uint k = 0u; k < 4u; k++)
        b[4u * i + k] = uint8_t(uint(b[4u * i + k]) * 3u + k);
}
