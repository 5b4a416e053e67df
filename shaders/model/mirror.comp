#version 450
// Mirrors the elements of a work-group and doubles them, under the GLSL450 memory model.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer D { float d[]; };

void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
    d[i] = 2 * a[i - l + 63 - l];
}
