// Writes one vector as a whole, and the other component by component.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer T { uvec2 t[32]; uvec2 u[32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    t[i] = uvec2(a[i], i); u[i].x = a[i] + 5u; u[i].y = a[i] * 2u;
}
