#version 450
// A work-group a row: softmax of the row times a factor.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer D { float d[]; };
layout(push_constant) uniform P { uint row; float factor; } p;
shared float all[256];

void main() {
    uint y = gl_WorkGroupID.x;
    uint id = gl_LocalInvocationID.x;
    float most = -1e30;
    for (uint x = id; x < p.row; x += 256) {
        most = max(most, a[y * p.row + x] * p.factor);
    }
    all[id] = most;
    barrier();
    for (uint s = 128; s > 0; s >>= 1) {
        if (id < s) {
            all[id] = max(all[id], all[id + s]);
        }
        barrier();
    }
    most = all[0];
    barrier();
    float sum = 0.0;
    for (uint x = id; x < p.row; x += 256) {
        sum += exp(a[y * p.row + x] * p.factor - most);
    }
    all[id] = sum;
    barrier();
    for (uint s = 128; s > 0; s >>= 1) {
        if (id < s) {
            all[id] += all[id + s];
        }
        barrier();
    }
    sum = all[0];
    for (uint x = id; x < p.row; x += 256) {
        d[y * p.row + x] = exp(a[y * p.row + x] * p.factor - most) / sum;
    }
}
