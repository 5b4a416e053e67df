#version 450
// Leaves a loop, and with it the kernel, before the store.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) buffer T { float t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    for (uint k = 0; k < 4; k++) {
        if (a[(i + k) % 1024] > 0.7) {
            return;
        }
    }
    t[i] = a[i];
}
