// Two steps through t: t[i] = x[i], then z[i] = t[the mirrored i in the group]. The macro ORDER orders them, or not.
#version 450
layout(local_size_x = 16) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer T { uint t[]; };
layout(std430, set = 0, binding = 2) buffer Z { uint z[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    t[i] = x[i];
    ORDER
    z[i] = t[gl_WorkGroupID.x * 16 + MIRROR - gl_LocalInvocationID.x];
}
