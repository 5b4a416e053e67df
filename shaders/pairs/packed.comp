// Planes of channels and the same with four channels side by side, from the one to the other; what is done to the latter.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint plane; uint channels; };
#if defined PACK
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
#else
layout(std430, set = 0, binding = 0) readonly buffer A { vec4 a[]; };
#endif
layout(std430, set = 0, binding = 1) readonly buffer B { vec4 b[]; };
#if defined UNPACK
layout(std430, set = 0, binding = 2) writeonly buffer D { float d[]; };
#else
layout(std430, set = 0, binding = 2) writeonly buffer D { vec4 d[]; };
#endif

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= plane * (channels / 4)) return;
    uint from = i / plane * 4 * plane + i % plane;
#if defined PACK
    d[i] = vec4(a[from], a[from + plane], a[from + 2 * plane], a[from + 3 * plane]);
#elif defined UNPACK
    vec4 own = a[i];
    d[from] = own.x;
    d[from + plane] = own.y;
    d[from + 2 * plane] = own.z;
    d[from + 3 * plane] = own.w;
#elif defined BIAS
    d[i] = a[i] + b[i / plane];
#elif defined SWISH
    d[i] = a[i] / (1.0 + exp(-a[i]));
#else
    d[i] = a[i] + b[i];
#endif
}
