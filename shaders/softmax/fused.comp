// Softmax of rows by hand as one kernel of one work-group per row: what a fused run is measured against.
// The exponentials stay in registers, so a row may hold at most 4 elements per item.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint columns; };
layout(std430, set = 0, binding = 0) readonly restrict buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly restrict buffer Z { float z[]; };

shared float part[gl_WorkGroupSize.x];

void main() {
    uint row = gl_WorkGroupID.x;
    uint own = gl_LocalInvocationID.x;
    float value[4];
    float most = -3.402823466e38;
    for (uint k = 0; k < 4; ++k) {
        uint c = own + k * gl_WorkGroupSize.x;
        value[k] = c < columns ? x[row * columns + c] : -3.402823466e38;
        most = max(most, value[k]);
    }
    part[own] = most;
    barrier();
    for (uint half_size = gl_WorkGroupSize.x / 2; half_size > 0; half_size /= 2) {
        if (own < half_size) part[own] = max(part[own], part[own + half_size]);
        barrier();
    }
    most = part[0];
    barrier();
    float sum = 0.0;
    for (uint k = 0; k < 4; ++k) {
        uint c = own + k * gl_WorkGroupSize.x;
        if (c < columns) {
            value[k] = exp(value[k] - most);
            sum += value[k];
        }
    }
    part[own] = sum;
    barrier();
    for (uint half_size = gl_WorkGroupSize.x / 2; half_size > 0; half_size /= 2) {
        if (own < half_size) part[own] += part[own + half_size];
        barrier();
    }
    sum = part[0];
    for (uint k = 0; k < 4; ++k) {
        uint c = own + k * gl_WorkGroupSize.x;
        if (c < columns) z[row * columns + c] = value[k] / sum;
    }
}
