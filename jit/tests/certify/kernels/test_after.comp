#version 450
// Stores one element in each round of a loop that is tested after the store. Invocations go round one to four times.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) buffer T { float t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint k = 0;
    do {
        t[4 * i + k] = a[i] + float(k);
    } while (k++ < (i & 3));
}
