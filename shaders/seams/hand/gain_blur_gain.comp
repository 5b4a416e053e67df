// `gain`, `blur` and `gain` in one kernel.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { uint width; uint height; float first; float second; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= width || at.y >= height) return;
    uint left = max(at.x, 1u) - 1u, right = min(at.x + 1u, width - 1u);
    uint up = (max(at.y, 1u) - 1u) * width, down = min(at.y + 1u, height - 1u) * width, here = at.y * width;
    float sum = first * x[up + left] + first * x[up + at.x] + first * x[up + right];
    sum += first * x[here + left] + first * x[here + at.x] + first * x[here + right];
    sum += first * x[down + left] + first * x[down + at.x] + first * x[down + right];
    y[here + at.x] = second * (sum / 9.0);
}
