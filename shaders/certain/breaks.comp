// z[i] = x[i], however the loop before it ends.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer Z { int z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    for (uint k = 0; k < 4; k++) {
        if (x[(i + k) % n] < 0) break;
    }
    z[i] = x[i];
}
