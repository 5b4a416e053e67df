#version 450
// Adds to each word and notes what was there.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Z { uint z[]; };
layout(set = 0, binding = 1) buffer O { uint o[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i] = atomicAdd(z[i], 5u);
}
