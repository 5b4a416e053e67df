#version 450
// A curve, from one image into another: of one channel of floats (FLOAT), of colours (COLOUR), and of whole numbers (WHOLE). HALF leaves out
// the right half of the image.
layout(local_size_x = 8, local_size_y = 8) in;
#if defined(COLOUR)
layout(set = 0, binding = 0, rgba32f) readonly uniform image2D from;
layout(set = 0, binding = 1, rgba32f) writeonly uniform image2D to;
#elif defined(WHOLE)
layout(set = 0, binding = 0, r32ui) readonly uniform uimage2D from;
layout(set = 0, binding = 1, r32ui) writeonly uniform uimage2D to;
#else
layout(set = 0, binding = 0, r32f) readonly uniform image2D from;
layout(set = 0, binding = 1, r32f) writeonly uniform image2D to;
#endif

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    ivec2 size = imageSize(to);
#ifdef HALF
    size.x /= 2;
#endif
    if (any(greaterThanEqual(at, size))) {
        return;
    }
#ifdef WHOLE
    uint x = imageLoad(from, at).x;
    imageStore(to, at, uvec4(x * x + 5u));
#else
    vec4 x = imageLoad(from, at);
    imageStore(to, at, x / (abs(x) + 1.0));
#endif
}
