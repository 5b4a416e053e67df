// Sums of products that wrap in 64 bits, and leave any number of bits that the analysis could count with.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint64_t a[]; };
layout(set = 0, binding = 1) readonly buffer T { uint t[]; };
layout(set = 0, binding = 2) writeonly buffer Z { uint z[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint64_t k = 0x8000000000000001ul, x = a[i] * k + a[i + 1u] * k + a[i + 2u] * k;
    z[i] = t[uint((x / 3ul) % 32ul)];
}
