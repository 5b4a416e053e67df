// z = x / sqrt(mean of the squares of the row); one work-group for each row.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint columns; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Z { float z[]; };

shared float part[256];

void main() {
    uint row = gl_WorkGroupID.x;
    uint own = gl_LocalInvocationID.x;
    float squares = 0.0;
    for (uint c = own; c < columns; c += 256) {
        float v = x[row * columns + c];
        squares += v * v;
    }
    part[own] = squares;
    barrier();
    for (uint half_size = 128; half_size > 0; half_size /= 2) {
        if (own < half_size) part[own] += part[own + half_size];
        barrier();
    }
    float scale = inversesqrt(part[0] / float(columns) + 1e-5);
    for (uint c = own; c < columns; c += 256) z[row * columns + c] = x[row * columns + c] * scale;
}
