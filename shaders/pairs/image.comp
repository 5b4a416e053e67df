// What back ends for phones do to images, texel by texel: a factor and an offset, ReLU, a sum; read as storage images or fetched.
#version 450
#if defined SCALE_HALF || defined RELU_HALF || defined ADD_HALF
#define FORMAT rgba16f
#else
#define FORMAT rgba32f
#endif
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { ivec2 size; };
#if defined FETCH
layout(set = 0, binding = 0) uniform sampler2D a;
#define LOAD(image) texelFetch(image, at, 0)
#else
layout(set = 0, binding = 0, FORMAT) uniform readonly image2D a;
#define LOAD(image) imageLoad(image, at)
#endif
#if defined ADD || defined ADD_HALF
layout(set = 0, binding = 1, FORMAT) uniform readonly image2D b;
#endif
layout(set = 0, binding = 2, FORMAT) uniform writeonly image2D d;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (at.x >= size.x || at.y >= size.y) return;
    vec4 own = LOAD(a);
#if defined SCALE || defined SCALE_HALF
    own = own * 0.75 + vec4(0.5, -0.25, 0.125, 1.0);
#elif defined ADD || defined ADD_HALF
    own += LOAD(b);
#else
    own = max(own, 0.0);
#endif
    imageStore(d, at, own);
}
