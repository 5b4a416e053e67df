#version 450
// Increments data[i] four times a round in a way the compiler cannot shorten: takes long enough to be caught running.
// At most 65,535 rounds: llvmpipe leaves a loop after that many.
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) coherent volatile buffer Data { uint data[]; };
layout(push_constant) uniform Push { uint rounds; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    for (uint r = 0; r < rounds; r++) {
        data[i] = data[i] + 1;
        data[i] = data[i] + 1;
        data[i] = data[i] + 1;
        data[i] = data[i] + 1;
    }
}
