// z = m * x on 3-vectors padded to four components; every element has its own 3 x 3 matrix.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer M { mat3 m[]; };
layout(std430, set = 0, binding = 1) buffer X { vec4 x[]; };
layout(std430, set = 0, binding = 2) buffer Z { vec4 z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = vec4(m[i] * x[i].xyz, x[i].w);
}
