// z = x * y where every element is an integer vector nested four structs deep; members are reached
// through a chain of accesses, no struct is copied.
#version 450
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
struct Inner { ivec4 value; };
struct Second { Inner inner; };
struct Third { Second second; };
struct Deep { Third third; };
layout(std430, set = 0, binding = 0) buffer X { Deep x[]; };
layout(std430, set = 0, binding = 1) buffer Y { Deep y[]; };
layout(std430, set = 0, binding = 2) buffer Z { Deep z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i].third.second.inner.value = x[i].third.second.inner.value * y[i].third.second.inner.value;
}
