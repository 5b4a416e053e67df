#version 450
// Words in place.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] += 5u;
}
