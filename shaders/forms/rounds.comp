// A loop with `rounds` iterations: some drivers end all loops of a kernel after a fixed number.
#version 450
layout(local_size_x = 64, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; uint rounds; };
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    uint a = x[i];
    for (uint k = 0; k < rounds; ++k) {
        a = a * 1664525u + 1013904223u + k;
    }
    z[i] = a;
}
