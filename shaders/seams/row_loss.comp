// loss = log(sum of the row) + most of the row - x at the row's label; an item for each row.
#version 450
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint rows; uint columns; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) readonly buffer LABEL { uint label[]; };
layout(std430, set = 0, binding = 2) readonly buffer MOST { float most[]; };
layout(std430, set = 0, binding = 3) readonly buffer SUM { float sum[]; };
layout(std430, set = 0, binding = 4) writeonly buffer LOSS { float loss[]; };

void main() {
    uint row = gl_GlobalInvocationID.x;
    if (row >= rows) return;
    uint at = row * columns + min(label[row], columns - 1u);
    loss[row] = log(sum[row]) + most[row] - x[at];
}
