// An array of structs in a struct, behind another.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
struct P { uint p; uint q; }; struct O { P left[32]; P right[32]; };
layout(set = 0, binding = 1) buffer T { uvec2 head; O o; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    o.left[i].q = a[i]; o.right[i].p = a[i] * 3u + 1u;
}
