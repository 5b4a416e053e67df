#version 450
// Between a buffer and an image, texel by texel in lines of an argument's length.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { float a[]; };
layout(set = 0, binding = 1, r32f) uniform image2D image;
layout(push_constant) uniform P { uint count; uint width; } p;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= p.count) {
        return;
    }
    ivec2 at = ivec2(i % p.width, i / p.width);
#ifdef OUT
    a[i] = imageLoad(image, at).x;
#else
    imageStore(image, at, vec4(a[i]));
#endif
}
