// Clears all elements, then marks the first n.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer Z { int z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = 0;
    if (i >= n) return;
    z[i] = 1;
}
