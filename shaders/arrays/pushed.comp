#version 450
// Copies one buffer of an array to another, which are chosen by push constants, in the second set.
layout(local_size_x = 64) in;
layout(set = 1, binding = 2) buffer Rows { float row[]; } rows[5];
layout(push_constant) uniform Push { uint n; uint from; uint to; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n) {
        rows[to].row[i] = rows[from].row[i] + 1.0;
    }
}
