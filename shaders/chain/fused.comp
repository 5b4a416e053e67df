// The whole chain written by hand as one kernel: what a fused and promoted run is measured against.
// `precise` keeps the multiplications and subtractions apart, as the strict mode of fusion does.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) readonly restrict buffer IN1 { float in1[]; };
layout(std430, set = 0, binding = 1) readonly restrict buffer IN2 { float in2[]; };
layout(std430, set = 0, binding = 2) readonly restrict buffer IN3 { float in3[]; };
layout(std430, set = 0, binding = 3) readonly restrict buffer IN4 { float in4[]; };
layout(std430, set = 0, binding = 4) writeonly restrict buffer OUT { float result[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    precise float tmp1 = in1[i] * in2[i];
    precise float tmp2 = in1[i] - in3[i];
    precise float tmp3 = tmp2 * in4[i];
    precise float last = tmp1 - tmp3;
    result[i] = last;
}
