// x to 16 bits and back: the rounding in between has to stay.
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer X { float x[]; };
layout(std430, binding = 1) buffer H { float16_t h[]; };
layout(std430, binding = 2) buffer Z { float z[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(NARROW)
    h[i] = float16_t(x[i]);
#elif defined(WIDEN)
    z[i] = float(h[i]);
#endif
}
