// d[i] = 2 a[i] on f32.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 1) buffer D { float d[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n) d[i] = 2 * a[i];
}
