// Mean of the 3 x 3 neighbourhood; past the border the nearest element counts.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { uint width; uint height; };
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= width || at.y >= height) return;
    uint left = max(at.x, 1u) - 1u, right = min(at.x + 1u, width - 1u);
    uint up = (max(at.y, 1u) - 1u) * width, down = min(at.y + 1u, height - 1u) * width, here = at.y * width;
    float sum = x[up + left] + x[up + at.x] + x[up + right];
    sum += x[here + left] + x[here + at.x] + x[here + right];
    sum += x[down + left] + x[down + at.x] + x[down + right];
    y[here + at.x] = sum / 9.0;
}
