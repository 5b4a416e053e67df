#version 450
// Claims that its two buffers are apart.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) restrict readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) restrict buffer Y { uint y[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    y[i] = x[i] * 4u + y[i];
}
