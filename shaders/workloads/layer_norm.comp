// Layer normalization of rows by hand as one kernel of one work-group per row.
// The row stays in registers, so it may hold at most 4 elements per item.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint columns; float epsilon; };
layout(std430, set = 0, binding = 0) readonly restrict buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly restrict buffer SCALE { float scale[]; };
layout(std430, set = 0, binding = 2) readonly restrict buffer SHIFT { float shift[]; };
layout(std430, set = 0, binding = 3) writeonly restrict buffer Z { float z[]; };

shared float part[gl_WorkGroupSize.x];

float total(uint own, float value) {
    part[own] = value;
    barrier();
    for (uint half_size = gl_WorkGroupSize.x / 2; half_size > 0; half_size /= 2) {
        if (own < half_size) part[own] += part[own + half_size];
        barrier();
    }
    float all = part[0];
    barrier();
    return all;
}

void main() {
    uint row = gl_WorkGroupID.x;
    uint own = gl_LocalInvocationID.x;
    float value[4];
    float sum = 0.0;
    for (uint k = 0; k < 4; ++k) {
        uint c = own + k * gl_WorkGroupSize.x;
        value[k] = c < columns ? x[row * columns + c] : 0.0;
        sum += value[k];
    }
    float mean = total(own, sum) / float(columns);
    sum = 0.0;
    for (uint k = 0; k < 4; ++k) {
        uint c = own + k * gl_WorkGroupSize.x;
        value[k] = value[k] - mean;
        if (c < columns) sum += value[k] * value[k];
    }
    float square = total(own, sum) / float(columns);
    for (uint k = 0; k < 4; ++k) {
        uint c = own + k * gl_WorkGroupSize.x;
        if (c < columns) z[row * columns + c] = value[k] * inversesqrt(square + epsilon) * scale[c] + shift[c];
    }
}
