#version 450
// The sum of three buffers, of a uniform one and of the element itself, into the fourth of an array: elements by constants.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Rows { float row[]; } rows[4];
layout(set = 0, binding = 1) uniform Bias { float bias; } biases[2];
layout(push_constant) uniform Push { uint n; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n) {
        rows[3].row[i] += rows[0].row[i] + rows[1].row[i] + rows[2].row[i] + biases[1].bias;
    }
}
