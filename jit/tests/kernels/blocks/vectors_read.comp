// Reads one vector as a whole, and the other component by component.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
layout(set = 0, binding = 0) buffer T { uvec2 t[32]; uvec2 u[32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = t[i].x * 1000u + t[i].y * 100u + u[i].x * 10u + u[i].y;
}
