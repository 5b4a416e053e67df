// z[i] = x[i] of the work-group's last item, through shared memory of as many words as a constant says, which has to be given.
#version 450
layout(local_size_x = 16) in;
layout(constant_id = 3) const uint N = 1;
layout(std430, set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Z { uint z[]; };
shared uint held[N];

void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
    if (l < N) held[l] = x[i];
    barrier();
    z[i] = held[N - 1u];
}
