#version 450
// Helper functions, early returns in loops, a switch, out parameters, a local array.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0, std430) buffer Data { uint count; int values[]; } data;
layout(set = 0, binding = 1, std430) buffer Out { int sums[]; } result;
int find(int wanted, uint from) {
    for (uint i = from; i < data.count; ++i) {
        if (data.values[i] == wanted) return int(i);
        if (data.values[i] < 0) return -2;
    }
    return -1;
}
void split(int value, out int low, out int high) { low = value & 15; high = value >> 4; }
int weigh(int value) {
    switch (value & 3) {
        case 0: return 1;
        case 1: value += 5;
        case 2: return value * 2;
        default: break;
    }
    return value;
}
int twice(int v) { return weigh(v) + weigh(v + 1); }
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= data.count) return;
    int low, high;
    split(data.values[i], low, high);
    int table[4] = int[4](low, high, low + high, low * high);
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
        if (table[k] == 7) continue;
        sum += twice(table[k]);
        if (sum > 1000) break;
    }
    result.sums[i] = sum + find(low, i);
}
