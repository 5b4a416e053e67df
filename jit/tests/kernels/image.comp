#version 450
// A storage image, and an image with its sampler.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, rgba8) uniform image2D target;
layout(set = 0, binding = 1) uniform sampler2D source;
layout(set = 0, binding = 2, std430) buffer Data { float v[]; };
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    imageStore(target, p, textureLod(source, vec2(p), 0.0) * v[p.x]);
}
