// d1 of Black and Scholes: (log(price / strike) + (rate + sigma^2 / 2) * time) / (sigma * sqrt(time)).
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; float rate; float sigma; };
layout(std430, set = 0, binding = 0) buffer PRICE { float price[]; };
layout(std430, set = 0, binding = 1) buffer STRIKE { float strike[]; };
layout(std430, set = 0, binding = 2) buffer TIME { float time[]; };
layout(std430, set = 0, binding = 3) buffer D1 { float d1[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    float s = 1.5 + price[i], k = 1.5 + strike[i], t = 1.25 + time[i];
    d1[i] = (log(s / k) + (rate + 0.5 * sigma * sigma) * t) / (sigma * sqrt(t));
}
