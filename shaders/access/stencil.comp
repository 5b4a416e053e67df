// Mean of the 3 x 3 neighbourhood of every inner element; the border is copied.
#version 450
layout(local_size_x = 16, local_size_y = 16, local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { uint width; uint height; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= width || at.y >= height) return;
    uint i = at.y * width + at.x;
    if (at.x == 0 || at.y == 0 || at.x == width - 1 || at.y == height - 1) {
        z[i] = x[i];
        return;
    }
    float sum = 0.0;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            sum += x[uint(int(i) + dy * int(width) + dx)];
        }
    }
    z[i] = sum / 9.0;
}
