#version 450
// Two buffers seen through a format, added into two others, which are chosen by constants, or by a
// push constant.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) uniform samplerBuffer from[2];
layout(set = 0, binding = 1, r32f) uniform imageBuffer to[2];
#ifdef CONSTANT
const int second = 1;
#else
layout(push_constant) uniform Push { int second; };
#endif

void main() {
    int at = int(gl_GlobalInvocationID.x);
    if (at < textureSize(from[0])) {
        imageStore(to[second], at, texelFetch(from[0], at) + texelFetch(from[second], at));
    }
}
