// Three elements per item: the y of a vector inside a 32-byte struct takes the square of x, and bytes
// are written in an order permuted within the item's triple. Nothing else of the struct is written.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
struct Wide { ivec3 a; int pad; ivec3 v; int tail; };
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer WIDE { Wide wide[]; };
layout(std430, set = 0, binding = 2) buffer BYTES { int8_t bytes[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    for (uint k = 0; k < 3; ++k) {
        uint at = 3 * i + k;
        wide[at].v.y = x[at] * x[at];
        uint permuted = 3 * i + (2 * k + 1) % 3;
        bytes[permuted] = int8_t(x[permuted] ^ 0xAA);
    }
}
