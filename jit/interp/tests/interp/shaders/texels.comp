// Texels of images and of texel buffers: what is written, read and sampled, and who meets whom.
#version 450
layout(local_size_x = 8) in;
#if defined(CONVERT)
// What a format makes of numbers.
layout(set = 0, binding = 0, FORMAT) uniform IMAGE image;
layout(std430, set = 0, binding = 1) readonly buffer X { VECTOR x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer Y { VECTOR y[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    imageStore(image, int(i), x[i]);
    y[i] = imageLoad(image, int(i));
}
#elif defined(MOVED)
// Texel (x, y) is read from (x + a, y + b) and written to (x + c, y + d).
layout(set = 0, binding = 0, r32ui) uniform readonly uimage2D from;
layout(set = 0, binding = 1, r32ui) uniform writeonly uimage2D to;
layout(push_constant) uniform P { ivec2 read, write; } p;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    imageStore(to, at + p.write, imageLoad(from, at + p.read));
}
#elif defined(EXCHANGE)
// Each texel is handed to another invocation of the work-group.
layout(set = 0, binding = 0, rgba8) uniform coherent image2D image;
layout(std430, set = 0, binding = 1) buffer Y { float y[]; };
void main() {
    int l = int(gl_LocalInvocationID.x), first = 8 * int(gl_WorkGroupID.x);
    imageStore(image, ivec2(first + l, 0), vec4(float(l) / 255.0));
    BETWEEN
    y[first + l] = imageLoad(image, ivec2(first + 7 - l, 0)).x;
}
#elif defined(COUNT)
// All invocations add to one texel.
layout(set = 0, binding = 0, r32ui) uniform uimage3D image;
layout(push_constant) uniform P { ivec3 at; } p;
void main() {
#ifdef PLAIN
    imageStore(image, p.at, imageLoad(image, p.at) + 1);
#else
    imageAtomicAdd(image, p.at, gl_GlobalInvocationID.x);
#endif
}
#elif defined(BUFFER)
// A buffer through two formats.
layout(set = 0, binding = 0) uniform samplerBuffer from;
layout(set = 0, binding = 1, r32f) uniform imageBuffer to;
layout(push_constant) uniform P { int read, write; } p;
void main() {
    int i = int(gl_GlobalInvocationID.x);
    imageStore(to, i + p.write, texelFetch(from, i + p.read).yxzw + float(textureSize(from) + imageSize(to)));
}
#elif defined(SAMPLED)
layout(set = 0, binding = 0) uniform sampler2D image;
layout(std430, set = 0, binding = 1) buffer Y { vec4 y[]; };
layout(push_constant) uniform P { vec2 at; ivec2 texel; } p;
void main() {
    y[0] = textureLod(image, p.at, 0.0);
    y[1] = texelFetch(image, p.texel, 0);
    y[2] = vec4(textureSize(image, 0), 0, 0);
    y[3] = textureLodOffset(image, p.at, 0.0, ivec2(1, 0));
}
#endif
