// An array of structs with arrays.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
struct E { uint k[3]; uvec2 v[2]; uint last; };
layout(set = 0, binding = 0) buffer T { E e[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = e[i].k[1] * 1000u + e[i].v[1].x * 100u + e[i].last;
}
