#version 450
// Reads a uniform buffer word by word.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std140) uniform U { uvec4 u[256]; };
layout(set = 0, binding = 1) buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = u[i / 4u][i % 4u] + 2u;
}
