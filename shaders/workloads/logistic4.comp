// Four rounds of kernels of the logistic map by hand as one.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; uint rounds; float r; };
layout(std430, set = 0, binding = 0) readonly restrict buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly restrict buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    precise float v = x[i];
    for (uint part = 0; part < 4; ++part) {
        v = abs(v);
        for (uint k = 0; k < rounds; ++k) v = r * v * (1.0 - v);
    }
    z[i] = v;
}
