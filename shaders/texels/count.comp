#version 450
#extension GL_EXT_samplerless_texture_functions : require
// Counts the numbers of a buffer by their rest, in texels that are changed in place.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) uniform utextureBuffer from;
layout(set = 0, binding = 1, r32ui) uniform uimageBuffer counts;

void main() {
    int at = int(gl_GlobalInvocationID.x);
    if (at < textureSize(from)) {
        imageAtomicAdd(counts, int(texelFetch(from, at).x % uint(imageSize(counts))), 1u);
    }
}
