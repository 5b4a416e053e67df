#version 450
// Leaves a loop between the store and the test.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) buffer T { float t[]; };
layout(push_constant) uniform P { uint m; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    for (uint k = 0; k < 4; k++) {
        t[4 * i + k] = a[i] + float(k);
        if (k >= m) {
            break;
        }
    }
}
