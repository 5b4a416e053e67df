#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
// Specialization constants of every kind, also for the local size, and constants computed from them.
layout(local_size_x_id = 10, local_size_y_id = 11, local_size_z = 1) in;
layout(constant_id = 0) const bool CLAMP = true;
layout(constant_id = 1) const int OFFSET = -3;
layout(constant_id = 2) const uint COUNT = 4;
layout(constant_id = 3) const float SCALE = 1.5;
layout(constant_id = 4) const double BIG = 2.5;
layout(constant_id = 5) const int64_t LONG = -5l;
layout(constant_id = 6) const int16_t SHORT = int16_t(-2);
layout(constant_id = 7) const uint DIVISOR = 2;
const uint HALF = COUNT / DIVISOR + 1;
const bool MANY = COUNT > 8 && !CLAMP;
const uint PICK = MANY ? COUNT : HALF;
layout(set = 0, binding = 0, std430) buffer Data { float values[]; };
shared float tile[COUNT * 2];
void main() {
    uint i = gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * gl_WorkGroupSize.x;
    uvec2 size = gl_WorkGroupSize.yx;
    tile[i % (COUNT * 2)] = float(size.x);
    barrier();
    float v = values[i] * SCALE + float(BIG) + float(LONG) + float(int(SHORT));
    if (CLAMP) v = clamp(v, 0.0, float(PICK));
    for (uint k = 0; k < COUNT; ++k) v += float(int(k) + OFFSET);
    values[i] = v + tile[0];
}
