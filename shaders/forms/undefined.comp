#version 450
// Means of groups of numbers. Some groups are empty: their quotients (0 / 0) are dropped, except for that of the last group.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Sums { uint sums[]; };
layout(set = 0, binding = 1) readonly buffer Counts { uint counts[]; };
layout(set = 0, binding = 2) buffer Means { uint means[]; };
layout(push_constant) uniform P { uint n; } p;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= p.n) {
        return;
    }
    uint mean = sums[i] / counts[i];
    uint rest = sums[i] % counts[i];
    means[i] = i + 1 == p.n ? rest : counts[i] == 0 ? 0 : mean;
}
