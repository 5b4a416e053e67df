// Functions with out parameters, loops, a switch, a local array, phis, an early return.
#version 450
layout(local_size_x = 8) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };
uint steps;
uint collatz(uint n, out uint peak) {
    uint count = 0;
    peak = n;
    while (n != 1) {
        if (n % 2 == 0) n /= 2; else n = 3 * n + 1;
        peak = max(peak, n);
        if (++count == 200) return 0;
    }
    steps += count;
    return count;
}
uint kind(uint n) {
    switch (n % 5) {
        case 0: return 10;
        case 1: n += 3;
        case 2: n *= 2; break;
        default: n = 77; break;
    }
    return n;
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    steps = 0;
    uint history[4];
    uint a = 0, b = 1;
    for (uint k = 0; k < 4; ++k) {
        uint peak;
        history[(k + i) % 4] = collatz(x[i] + k, peak) + peak;
        uint t = a; a = b; b = t + b;
        if (k == 2 && i == 5) { z[i] = 12345; return; }
    }
    z[i] = history[0] + 3 * history[1] + 5 * history[2] + 7 * history[3] + steps + kind(x[i]) + b;
}
