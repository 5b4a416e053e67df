#version 450
// The sum of a texel and its neighbours, read by their coordinates; those outside are the nearest inside.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, r32f) readonly uniform image2D from;
layout(set = 0, binding = 1, r32f) writeonly uniform image2D to;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    ivec2 size = imageSize(to);
    if (any(greaterThanEqual(at, size))) {
        return;
    }
    float sum = 0.0;
    for (int y = -1; y <= 1; ++y) {
        for (int x = -1; x <= 1; ++x) {
            sum += imageLoad(from, clamp(at + ivec2(x, y), ivec2(0), size - 1)).x;
        }
    }
    imageStore(to, at, vec4(sum));
}
