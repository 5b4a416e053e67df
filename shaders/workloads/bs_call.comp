// Price of a call: price * N(d1) - strike * exp(-rate * time) * N(d2).
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; float rate; };
layout(std430, set = 0, binding = 0) buffer PRICE { float price[]; };
layout(std430, set = 0, binding = 1) buffer STRIKE { float strike[]; };
layout(std430, set = 0, binding = 2) buffer TIME { float time[]; };
layout(std430, set = 0, binding = 3) buffer N1 { float n1[]; };
layout(std430, set = 0, binding = 4) buffer N2 { float n2[]; };
layout(std430, set = 0, binding = 5) buffer CALL { float call[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float s = 1.5 + price[i], k = 1.5 + strike[i], t = 1.25 + time[i];
    call[i] = s * n1[i] - k * exp(-rate * t) * n2[i];
}
