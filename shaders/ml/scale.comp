#version 450
// Four elements an invocation, a work-group apart.
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer D { float d[]; };
layout(push_constant) uniform P { uint count; float factor; float summand; } p;

void main() {
    uint i = gl_WorkGroupID.x * 512 + gl_LocalInvocationID.x;
    for (uint round = 0; round < 4; ++round) {
        if (i >= p.count) {
            continue;
        }
        d[i] = a[i] * p.factor + p.summand;
        i += 128;
    }
}
