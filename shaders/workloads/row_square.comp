// Mean of the squares of each row; one work-group per row, whose size must be a power of two.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint columns; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer SQUARE { float square[]; };

shared float part[gl_WorkGroupSize.x];

void main() {
    uint row = gl_WorkGroupID.x;
    uint own = gl_LocalInvocationID.x;
    float value = 0.0;
    for (uint c = own; c < columns; c += gl_WorkGroupSize.x) {
        float v = x[row * columns + c];
        value += v * v;
    }
    part[own] = value;
    barrier();
    for (uint half_size = gl_WorkGroupSize.x / 2; half_size > 0; half_size /= 2) {
        if (own < half_size) part[own] += part[own + half_size];
        barrier();
    }
    if (own == 0) square[row] = part[0] / float(columns);
}
