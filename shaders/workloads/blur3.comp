// z = mean of the 3x3 neighbourhood, edges repeated.
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { uint width; uint height; };
layout(std430, set = 0, binding = 0) buffer X { float x[]; };
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= width || at.y >= height) return;
    float sum = 0.0;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            uint px = uint(clamp(int(at.x) + dx, 0, int(width) - 1));
            uint py = uint(clamp(int(at.y) + dy, 0, int(height) - 1));
            sum += x[py * width + px];
        }
    }
    z[at.y * width + at.x] = sum / 9.0;
}
