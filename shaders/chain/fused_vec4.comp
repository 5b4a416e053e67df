// The chain by hand, four consecutive elements per item through 16-byte accesses.
// `n` counts vectors: the buffers must hold a multiple of four elements.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) readonly restrict buffer IN1 { vec4 in1[]; };
layout(std430, set = 0, binding = 1) readonly restrict buffer IN2 { vec4 in2[]; };
layout(std430, set = 0, binding = 2) readonly restrict buffer IN3 { vec4 in3[]; };
layout(std430, set = 0, binding = 3) readonly restrict buffer IN4 { vec4 in4[]; };
layout(std430, set = 0, binding = 4) writeonly restrict buffer OUT { vec4 result[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    precise vec4 tmp1 = in1[i] * in2[i];
    precise vec4 tmp2 = in1[i] - in3[i];
    precise vec4 tmp3 = tmp2 * in4[i];
    precise vec4 last = tmp1 - tmp3;
    result[i] = last;
}
