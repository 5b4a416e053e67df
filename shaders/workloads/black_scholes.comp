// The five kernels of Black and Scholes by hand as one.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; float rate; float sigma; };
layout(std430, set = 0, binding = 0) readonly restrict buffer PRICE { float price[]; };
layout(std430, set = 0, binding = 1) readonly restrict buffer STRIKE { float strike[]; };
layout(std430, set = 0, binding = 2) readonly restrict buffer TIME { float time[]; };
layout(std430, set = 0, binding = 3) writeonly restrict buffer CALL { float call[]; };

float normal_cdf(float v) {
    precise float a = abs(v);
    precise float k = 1.0 / (1.0 + 0.2316419 * a);
    precise float p = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
    precise float tail = 0.39894228 * exp(-0.5 * a * a) * p;
    precise float other = 1.0 - tail;
    return v < 0.0 ? tail : other;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    precise float s = 1.5 + price[i], k = 1.5 + strike[i], t = 1.25 + time[i];
    precise float d1 = (log(s / k) + (rate + 0.5 * sigma * sigma) * t) / (sigma * sqrt(t));
    precise float d2 = d1 - sigma * sqrt(t);
    precise float value = s * normal_cdf(d1) - k * exp(-rate * t) * normal_cdf(d2);
    call[i] = value;
}
