// Helper functions with early returns, a loop with break and continue, and a switch that falls through.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };

uint steps(uint value) {
    if (value == 0) return 0;
    uint count = 0;
    for (uint k = 0; k < 200; ++k) {
        if (value == 1) break;
        ++count;
        if (value % 2 == 0) {
            value /= 2;
            continue;
        }
        value = 3 * value + 1;
    }
    return count;
}

uint classify(uint value) {
    switch (value % 5) {
        case 0:
            return 100;
        case 1:
            value += 7;
        case 2:
            value *= 2;
            break;
        default:
            if (value > 50) return 1;
            value += 3;
    }
    return value;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = 1000 * steps(x[i]) + classify(x[i]);
}
