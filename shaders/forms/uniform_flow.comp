// z = x with 3 added where it is even, on u32, in an entry point with an execution mode that a device may lack.
#version 460
#extension GL_EXT_subgroup_uniform_control_flow : require
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };

void main() [[subgroup_uniform_control_flow]] {
    uint i = gl_GlobalInvocationID.x;
    uint v = x[i];
    if ((v & 1u) == 0u) v += 3u;
    z[i] = v;
}
