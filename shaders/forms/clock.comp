// z = x + 1 on u32 if the clocks of the sub-group and of the device tell a time, else x + 100.
#version 450
#extension GL_ARB_shader_clock : require
#extension GL_EXT_shader_realtime_clock : require
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uvec2 own = clock2x32ARB(), device = clockRealtime2x32EXT();
    bool tells = (own.x | own.y) != 0u && (device.x | device.y) != 0u;
    z[i] = x[i] + (tells ? 1u : 100u);
}
