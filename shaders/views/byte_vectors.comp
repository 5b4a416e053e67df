#version 450
// A word as a vector of bytes.
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer B { u8vec4 b[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    b[i] = u8vec4(uvec4(b[i]).wzyx + 1u);
}
