// Steps of an iteration from one buffer to another, by elements or with neighbours, and sums and products in place: what programs do that use few
// buffers, each for one value after another.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint count; };
#if defined STEP || defined STENCIL
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { float b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer D { float d[]; };
#else
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 2) buffer D { float d[]; };
#endif

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
#if defined STEP
    // A system whose matrix is its diagonal.
    d[i] = a[i] + 0.25 * (b[i] - 1.5 * a[i]);
#elif defined STENCIL
    float left = i > 0 ? a[i - 1] : 0.0, right = i + 1 < count ? a[i + 1] : 0.0;
    d[i] = 0.5 * b[i] + 0.25 * (left + right);
#elif defined ADD
    d[i] += a[i];
#elif defined SCALE
    d[i] *= a[i];
#else
    d[i] = max(d[i], a[0]);
#endif
}
