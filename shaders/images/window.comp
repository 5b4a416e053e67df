#version 450
// The sum of a texel and its neighbours, read by their coordinates: two texels away (WIDE), mirrored at the borders (MIRRORED), without those
// outside (GUARDED), as the device reads them there (OPEN), of colours of 32 bits a channel (COLOUR), and of eight (BYTES).
layout(local_size_x = 8, local_size_y = 8) in;
#if defined(COLOUR)
#define FORMAT rgba32f
#elif defined(BYTES)
#define FORMAT rgba8
#else
#define FORMAT r32f
#endif
#ifdef WIDE
const int radius = 2;
#else
const int radius = 1;
#endif
layout(set = 0, binding = 0, FORMAT) readonly uniform image2D from;
layout(set = 0, binding = 1, FORMAT) writeonly uniform image2D to;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    ivec2 size = imageSize(to);
    if (any(greaterThanEqual(at, size))) {
        return;
    }
    vec4 sum = vec4(0.0);
    for (int y = -radius; y <= radius; ++y) {
        for (int x = -radius; x <= radius; ++x) {
            ivec2 there = at + ivec2(x, y);
#if defined(MIRRORED)
            there = size - 1 - abs(size - 1 - abs(there));
#elif defined(GUARDED)
            if (any(lessThan(there, ivec2(0))) || any(greaterThanEqual(there, size))) {
                continue;
            }
#elif !defined(OPEN)
            there = clamp(there, ivec2(0), size - 1);
#endif
            sum += imageLoad(from, there);
        }
    }
    imageStore(to, at, sum / 9.0);
}
