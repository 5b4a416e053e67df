#version 450
// What a buffer holds through a format, from its end to its start, into another through a format.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) uniform samplerBuffer from;
layout(set = 0, binding = 1, r32f) writeonly uniform imageBuffer to;

void main() {
    int at = int(gl_GlobalInvocationID.x);
    int last = textureSize(from) - 1;
    if (at <= last) {
        imageStore(to, at, vec4(texelFetch(from, last - at).x * 2.0 + 1.0));
    }
}
