#version 450
// Stores at a distance that is read from memory, four times of it.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer C { uint c[]; };
layout(binding = 2) buffer T { float t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint m = c[0];
    if (m < 100) {
        t[4 * m + 3 * i] = a[i];
    }
}
