#version 450
// The sum of a texel and its neighbours, sampled: by an image and a sampler in one, or by one of each.
layout(local_size_x = 8, local_size_y = 8) in;
#ifdef SEPARATE
layout(set = 0, binding = 0) uniform texture2D from;
layout(set = 0, binding = 2) uniform sampler how;
#define source sampler2D(from, how)
#else
layout(set = 0, binding = 0) uniform sampler2D source;
#endif
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
            sum += textureLod(source, (vec2(at + ivec2(x, y)) + 0.5) / vec2(size), 0.0).x;
        }
    }
    imageStore(to, at, vec4(sum));
}
