#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// Every scalar width, vectors, matrices of both majors, nested structures, arrays of structures.
layout(local_size_x = 8, local_size_y = 4, local_size_z = 2) in;
struct Inner { vec3 position; float weight; };
struct Outer { Inner parts[2]; mat3 turn; };
layout(set = 0, binding = 0, std430) buffer Items { uint count; Outer outer[]; } items;
layout(set = 1, binding = 3, std430) buffer Narrow { uint8_t bytes[16]; int16_t shorts[8]; float16_t halves[]; } narrow;
layout(set = 1, binding = 1, std430) buffer Wide { double d; int64_t l; uint64_t u; } wide;
layout(set = 2, binding = 0, std430) buffer Mats { layout(row_major) mat2x3 rows; mat2x3 cols; } mats;
void main() {
    uint i = gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * 8u;
    Outer o = items.outer[i];
    o.parts[1].position = o.turn * o.parts[0].position;
    o.parts[1].weight += mats.rows[1][2] + mats.cols[1][2];
    items.outer[i] = o;
    narrow.bytes[i & 15u] = uint8_t(i);
    narrow.shorts[i & 7u] = int16_t(narrow.halves[i]);
    wide.l += int64_t(wide.d);
    wide.u = uint64_t(i);
}
