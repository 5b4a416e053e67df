// z = x / sqrt(mean square of the row), scaled and shifted by column.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint columns; float epsilon; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer SQUARE { float square[]; };
layout(std430, set = 0, binding = 2) buffer SCALE { float scale[]; };
layout(std430, set = 0, binding = 3) buffer SHIFT { float shift[]; };
layout(std430, set = 0, binding = 4) buffer Z { float z[]; };

void main() {
    uint row = gl_WorkGroupID.x;
    for (uint c = gl_LocalInvocationID.x; c < columns; c += gl_WorkGroupSize.x) {
        uint at = row * columns + c;
        z[at] = x[at] * inversesqrt(square[row] + epsilon) * scale[c] + shift[c];
    }
}
