// z = x * y on structs that hold a 2 x 2 array of vectors; the inner indices are constants.
#version 450
layout(local_size_x = 4, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
struct Wrapper { ivec2 m[2][2]; };
layout(std430, set = 0, binding = 0) buffer X { Wrapper x[]; };
layout(std430, set = 0, binding = 1) buffer Y { Wrapper y[]; };
layout(std430, set = 0, binding = 2) buffer Z { Wrapper z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i].m[0][0] = x[i].m[0][0] * y[i].m[0][0];
    z[i].m[0][1] = x[i].m[0][1] * y[i].m[0][1];
    z[i].m[1][0] = x[i].m[1][0] * y[i].m[1][0];
    z[i].m[1][1] = x[i].m[1][1] * y[i].m[1][1];
}
