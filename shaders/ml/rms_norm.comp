#version 450
// A work-group a row: the row divided by the root of the mean of its squares.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer D { float d[]; };
layout(push_constant) uniform P { uint row; uint rows; float epsilon; } p;
shared float sums[256];

void main() {
    uint y = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint id = gl_LocalInvocationID.x;
    float sum = 0.0;
    for (uint x = id; x < p.row; x += 256) {
        float v = a[y * p.row + x];
        sum += v * v;
    }
    sums[id] = sum;
    barrier();
    for (uint s = 128; s > 0; s >>= 1) {
        if (id < s) {
            sums[id] += sums[id + s];
        }
        barrier();
    }
    float scale = inversesqrt(sums[0] / float(p.row) + p.epsilon);
    for (uint x = id; x < p.row; x += 256) {
        d[y * p.row + x] = a[y * p.row + x] * scale;
    }
}
