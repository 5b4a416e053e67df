#version 450
// Two words as one of 64 bits.
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Q { uint64_t q[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    q[i] = q[i] * 0x100000001b3ul + 1ul;
}
