#version 450
// From an image into a buffer, line after line, as wide as the image is; PUSHED doubles texels in lines as wide as an argument says.
layout(local_size_x = 8, local_size_y = 8) in;
#ifdef PUSHED
layout(set = 0, binding = 0) buffer A { float a[]; };
layout(push_constant) uniform P { int width; int height; } p;
#else
layout(set = 0, binding = 0, r32f) uniform readonly image2D image;
layout(set = 0, binding = 1) buffer Z { float z[]; };
#endif

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
#ifdef PUSHED
    if (at.x >= p.width || at.y >= p.height) {
        return;
    }
    a[at.y * p.width + at.x] *= 2.0;
#else
    ivec2 size = imageSize(image);
    if (at.x >= size.x || at.y >= size.y) {
        return;
    }
    z[at.y * size.x + at.x] = imageLoad(image, at).x;
#endif
}
