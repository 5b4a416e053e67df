#version 450
// Coherent, where others are not.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) coherent buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = z[i] * 2u + 3u;
}
