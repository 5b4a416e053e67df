#version 450
// Texels times a factor.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, r32f) readonly uniform image2D from;
layout(set = 0, binding = 1, r32f) writeonly uniform image2D to;
layout(push_constant) uniform P { float factor; } p;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, imageSize(to)))) {
        return;
    }
    imageStore(to, at, imageLoad(from, at) * p.factor);
}
