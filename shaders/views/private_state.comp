#version 450
// State in variables with initializers, which every item starts anew.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Z { uint z[]; };
uint c = 7u;
uint t[3] = uint[3](1u, 2u, 3u);

void step() {
    c = c * 3u + 1u;
    t[c % 3u] += c;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    step();
    step();
    z[i] = z[i] * c + t[i % 3u];
}
