#version 450
// A curve, in place.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, r32f) uniform image2D image;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, imageSize(image)))) {
        return;
    }
    float x = imageLoad(image, at).x;
    imageStore(image, at, vec4(x / (x + 1.0)));
}
