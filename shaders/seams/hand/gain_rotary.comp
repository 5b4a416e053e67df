// `gain` and `rotary` in one kernel.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; uint columns; float gain; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer Cosine { float cosine[]; };
layout(std430, set = 0, binding = 2) readonly buffer Sine { float sine[]; };
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    uint column = i % columns, rows = i - column, half_row = columns / 2, pair = column % half_row;
    float low = gain * x[rows + pair], high = gain * x[rows + pair + half_row];
    float sign = column < half_row ? -1.0 : 1.0;
    float own = column < half_row ? low : high, other = column < half_row ? high : low;
    y[i] = own * cosine[pair] + sign * other * sine[pair];
}
