#version 450
// Adds up four elements.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer T { float t[]; };
layout(binding = 1) buffer O { float o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float sum = 0;
    for (uint k = 0; k < 4; k++) {
        sum += t[4 * i + k];
    }
    o[i] = sum;
}
