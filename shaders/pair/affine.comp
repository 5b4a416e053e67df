// z = (x + 5) on i32 where `add` is 5 and `mul` is 1: z = (x + add) * mul.
#version 450
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; int add; int mul; };
layout(std430, set = 0, binding = 0) buffer X { int x[]; };
layout(std430, set = 0, binding = 1) buffer Z { int z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = (x[i] + add) * mul;
}
