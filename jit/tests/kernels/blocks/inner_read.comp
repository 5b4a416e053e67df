// An array of structs in a struct, behind another.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
struct P { uint p; uint q; }; struct O { P left[32]; P right[32]; };
layout(set = 0, binding = 0) buffer T { uvec2 head; O o; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = o.left[i].q * 1000u + o.right[i].p;
}
