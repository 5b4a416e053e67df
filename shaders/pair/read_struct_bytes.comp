// Adds the struct's y and the byte that write_struct_bytes wrote, three elements per item.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
struct Wide { ivec3 a; int pad; ivec3 v; int tail; };
layout(std430, set = 0, binding = 0) buffer WIDE { Wide wide[]; };
layout(std430, set = 0, binding = 1) buffer BYTES { int8_t bytes[]; };
layout(std430, set = 0, binding = 2) buffer Z { int z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    for (uint k = 0; k < 3; ++k) {
        uint at = 3 * i + k;
        z[at] = wide[at].v.y + int(bytes[at]);
    }
}
