// z = x * scale + shift, both from a uniform buffer with std140 layout.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(std140, set = 0, binding = 0) uniform Settings { uint n; float scale; vec4 shift[2]; };
layout(std430, set = 0, binding = 1) buffer X { float x[]; };
layout(std430, set = 0, binding = 2) buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = x[i] * scale + shift[1].y;
}
