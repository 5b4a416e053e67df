// z[i] = x[i + shift]: a race as soon as both names mean overlapping memory and shift is not 0.
#version 450
layout(local_size_x = 4) in;
layout(push_constant) uniform Push { uint shift; };
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = x[i + shift];
}
