#version 450
// An array as long as a specialization constant says, which is none by default: d = a * (0 + 1 + ... + (ROOM / 8 - 1)).
layout(constant_id = 3) const uint ROOM = 0;
const uint LENGTH = ROOM / 8;
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer D { float d[]; };
layout(push_constant) uniform P { uint n; } p;

void main() {
    float t[LENGTH];
    uint i = gl_GlobalInvocationID.x;
    if (i >= p.n) return;
    for (uint k = 0; k < LENGTH; k++) t[k] = a[i] * float(k);
    float sum = 0;
    for (uint k = 0; k < LENGTH; k++) sum += t[k];
    d[i] = sum;
}
