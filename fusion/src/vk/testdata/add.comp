#version 450
// dst[i] = src[i] + k for i < n; both in set 0.
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) buffer Src { uint src[]; };
layout(std430, set = 0, binding = 1) buffer Dst { uint dst[]; };
layout(push_constant) uniform Push { uint n; uint k; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    dst[i] = src[i] + k;
}
