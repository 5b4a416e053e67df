#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
// Pointers chosen at run time, made of numbers, to structures with pointers, and with arithmetic.
layout(local_size_x = 8) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Table { Floats of[2]; uvec2 raw; };
layout(push_constant) uniform Push { Table table; uint which; uint n; } push;
layout(set = 0, binding = 0) buffer Out { float result[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= push.n) return;
    Floats chosen = push.which == 0u ? push.table.of[0] : push.table.of[1];
    Floats raw = Floats(push.table.raw);
    float sum = 0.0;
    for (uint k = 0; k < 4u; k++) {
        sum += chosen.at[i];
        if (sum > 100.0) chosen = raw;
    }
    raw.at[i] = sum;
    result[i] = sum;
}
