// Four elements an invocation, a work-group apart, without a loop, and with a return before each.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; uint columns; uint by; uint shift; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer W { float w[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Z { float z[]; };

void main() {
    uint i = gl_WorkGroupID.x * 1024 + gl_LocalInvocationID.x;
    if (i >= n) return;
    z[i] = x[i] * w[i % columns];
    i += 256;
    if (i >= n) return;
    z[i] = x[i] * w[i % columns];
    i += 256;
    if (i >= n) return;
    z[i] = x[i] * w[i % columns];
    i += 256;
    if (i >= n) return;
    z[i] = x[i] * w[i % columns];
}
