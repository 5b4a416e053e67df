// What back ends for phones do to images of four channels a texel: a factor and an offset, ReLU, a sum, a border, a convolution over three lines; read
// as storage images, fetched, or sampled where a texel's centre is; and planes of channels in a buffer to an image and back.
#version 450
#extension GL_EXT_samplerless_texture_functions : require
#if defined SCALE_HALF || defined RELU_HALF || defined ADD_HALF || defined FETCH_HALF || defined OWN_HALF || defined CONVOLUTION_HALF
#define FORMAT rgba16f
#elif defined SCALE_BYTE || defined RELU_BYTE
#define FORMAT rgba8
#else
#define FORMAT rgba32f
#endif
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { ivec2 size; };

#if defined OWN || defined OWN_HALF
layout(set = 0, binding = 0, FORMAT) uniform image2D d;
#elif defined FILL
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
#elif defined FETCH || defined FETCH_HALF || defined SAMPLE
layout(set = 0, binding = 0) uniform sampler2D a;
#elif defined FETCH_ALONE
layout(set = 0, binding = 0) uniform texture2D a;
#else
layout(set = 0, binding = 0, FORMAT) uniform readonly image2D a;
#endif
#if defined ADD || defined ADD_HALF
layout(set = 0, binding = 1, FORMAT) uniform readonly image2D b;
#endif
#if defined EMPTY
layout(std430, set = 0, binding = 2) writeonly buffer D { float d[]; };
#elif !defined OWN && !defined OWN_HALF
layout(set = 0, binding = 2, FORMAT) uniform writeonly image2D d;
#endif

#if defined FETCH || defined FETCH_HALF || defined FETCH_ALONE
#define LOAD(image, at) texelFetch(image, at, 0)
#elif defined SAMPLE
#define LOAD(image, at) textureLod(image, (vec2(at) + 0.5) / vec2(size), 0.0)
#else
#define LOAD(image, at) imageLoad(image, at)
#endif

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (at.x >= size.x || at.y >= size.y) return;
#if defined FILL
    int plane = size.x * size.y, from = at.y * size.x + at.x;
    imageStore(d, at, vec4(a[from], a[from + plane], a[from + 2 * plane], a[from + 3 * plane]));
#elif defined EMPTY
    int plane = size.x * size.y, to = at.y * size.x + at.x;
    vec4 own = LOAD(a, at);
    d[to] = own.x;
    d[to + plane] = own.y;
    d[to + 2 * plane] = own.z;
    d[to + 3 * plane] = own.w;
#elif defined OWN || defined OWN_HALF
    imageStore(d, at, imageLoad(d, at) * 0.5 + 0.25);
#elif defined BORDER
    // A border of zeros, a texel wide on the left and above.
    imageStore(d, at, at.x > 0 && at.y > 0 ? LOAD(a, at - 1) : vec4(0.0));
#elif defined SHIFT
    // What is behind a border.
    ivec2 from = min(at + 1, size - 1);
    imageStore(d, at, LOAD(a, from));
#elif defined CONVOLUTION || defined CONVOLUTION_HALF
    vec4 sum = vec4(0.0);
    for (int j = -1; j <= 1; j++) {
        ivec2 from = ivec2(at.x, clamp(at.y + j, 0, size.y - 1));
        sum += LOAD(a, from) * (j == 0 ? 0.5 : 0.25);
    }
    imageStore(d, at, sum);
#else
    vec4 own = LOAD(a, at);
#if defined SCALE || defined SCALE_HALF || defined SCALE_BYTE
    own = own * 0.75 + vec4(0.5, -0.25, 0.125, 1.0);
#elif defined ADD || defined ADD_HALF
    own += LOAD(b, at);
#else
    own = max(own, 0.0);
#endif
    imageStore(d, at, own);
#endif
}
