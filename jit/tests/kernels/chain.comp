#version 450
// The plainest kernel there is: one guard, two reads, one write.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) readonly buffer A { float a[]; };
layout(set = 0, binding = 1, std430) readonly buffer B { float b[]; };
layout(set = 0, binding = 2, std430) writeonly buffer C { float c[]; } result;
layout(push_constant) uniform Push { uint n; float scale; } push;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= push.n) return;
    result.c[i] = a[i] * b[i] + push.scale;
}
