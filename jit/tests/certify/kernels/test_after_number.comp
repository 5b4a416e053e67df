#version 450
// The same as often as an argument says.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) buffer T { float t[]; };
layout(push_constant) uniform P { uint m; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint k = 0;
    do {
        t[4 * i + k] = a[i] + float(k);
    } while (k++ < m);
}
