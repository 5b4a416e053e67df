// z = x * y + y on 16-bit integers.
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { int16_t x[]; };
layout(std430, set = 0, binding = 1) buffer Y { int16_t y[]; };
layout(std430, set = 0, binding = 2) buffer Z { int16_t z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = x[i] * y[i] + y[i];
}
