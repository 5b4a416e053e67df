#version 450
// The same as often as memory says, at most four times.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer C { uint c[]; };
layout(binding = 2) buffer T { float t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint m = min(c[0], 3);
    uint k = 0;
    do {
        t[4 * i + k] = a[i] + float(k);
    } while (k++ < m);
}
