// z = x - mean of the row.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint columns; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer MEAN { float mean[]; };
layout(std430, set = 0, binding = 2) buffer Z { float z[]; };

void main() {
    uint row = gl_WorkGroupID.x;
    for (uint c = gl_LocalInvocationID.x; c < columns; c += gl_WorkGroupSize.x) {
        uint at = row * columns + c;
        z[at] = x[at] - mean[row];
    }
}
