// z = x + y on i32 through device addresses wrapped in a struct by value in the push constants.
// It has no bindings that fusion could follow: it fuses only when it is trusted.
#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 16, local_size_x_id = 0) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Ints { int at[]; };
struct Pointers { Ints x; Ints y; Ints z; };
layout(push_constant) uniform Push { Pointers pointers; uint n; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    pointers.z.at[i] = pointers.x.at[i] + pointers.y.at[i];
}
