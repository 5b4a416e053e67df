// Two elements an invocation, a work-group apart, in work-groups of all dimensions: a round that is out of range steps nothing.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; uint columns; uint by; uint shift; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer W { float w[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.z * 262144 + gl_GlobalInvocationID.y * 512 + gl_GlobalInvocationID.x;
    for (uint k = 0; k < 2; ++k) {
        if (i >= n) continue;
        z[i] = x[i] * w[i % columns];
        i += 256;
    }
}
