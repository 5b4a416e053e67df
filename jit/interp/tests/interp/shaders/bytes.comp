// Neighbouring bytes, written by different invocations.
#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 8) in;
layout(std430, set = 0, binding = 0) buffer X { uint8_t x[]; };
layout(std430, set = 0, binding = 1) buffer H { float16_t h[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    x[i] = uint8_t(x[i] * uint8_t(3));
    h[i] = h[i] + float16_t(1);
}
