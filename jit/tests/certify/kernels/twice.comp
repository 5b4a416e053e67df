#version 450
// o = 2 t.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer T { float t[]; };
layout(binding = 1) buffer O { float o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i] = t[i] * 2;
}
