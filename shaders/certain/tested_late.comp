// z[4 * i + k] = x[4 * i] for k up to the remainder of x[i] by four, and once for k = 0.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer Z { int z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (4 * i >= n) return;
    uint k = 0, last = uint(x[i]) % 4;
    do {
        z[4 * i + k] = x[4 * i];
    } while (k++ < last);
}
