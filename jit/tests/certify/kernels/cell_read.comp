#version 450
// Reads at five times that distance.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer T { float t[]; };
layout(binding = 1) readonly buffer C { uint c[]; };
layout(binding = 2) buffer O { float o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint m = c[0];
    if (m < 100) {
        o[i] = t[5 * m + 3 * i];
    }
}
