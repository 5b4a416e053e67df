// x[i] = x[i - 1] + x[i + 1] in place, with a barrier between reads and writes: right inside a group only.
#version 450
layout(local_size_x = 8) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint left = i > 0 ? x[i - 1] : 0;
    uint right = i + 1 < n ? x[i + 1] : 0;
    memoryBarrierBuffer();
    barrier();
    x[i] = left + right;
}
