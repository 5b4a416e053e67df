// z[i / 64] += x[i] and y[i / 64] = max(y[i / 64], x[i]), on f32.
#version 450
#extension GL_EXT_shader_atomic_float : require
#extension GL_EXT_shader_atomic_float2 : require
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Y { float y[]; };
layout(std430, set = 0, binding = 2) buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    atomicMax(y[i / 64u], x[i]);
    atomicAdd(z[i / 64u], x[i]);
}
