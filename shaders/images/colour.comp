#version 450
// Colours of eight bits a channel: times a factor into an image whose format is not said, and a curve in place. What the one leaves for the
// other is rounded.
layout(local_size_x = 8, local_size_y = 8) in;
#ifdef GAIN
layout(set = 0, binding = 0, rgba8) readonly uniform image2D from;
layout(set = 0, binding = 1) writeonly uniform image2D to;
#else
layout(set = 0, binding = 0, rgba8) uniform image2D image;
#endif

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
#ifdef GAIN
    imageStore(to, at, imageLoad(from, at) * 0.37);
#else
    vec4 colour = imageLoad(image, at);
    imageStore(image, at, colour * colour + 0.101);
#endif
}
