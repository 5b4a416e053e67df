// An array of structs with arrays.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
struct E { uint k[3]; uvec2 v[2]; uint last; };
layout(set = 0, binding = 1) buffer T { E e[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    e[i].k[1] = a[i]; e[i].v[1].x = a[i] * 3u + 1u; e[i].last = i;
}
