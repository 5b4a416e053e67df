#version 450
// The sum of textures, each through one of two samplers, into two storage images; the second also adds its own texel. Elements are
// chosen by constants, or by counters.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform texture2D textures[3];
layout(set = 0, binding = 1) uniform sampler samplers[2];
layout(set = 0, binding = 2, r32f) uniform image2D images[2];
layout(set = 0, binding = 3) uniform sampler2D combined[2];

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    ivec2 size = imageSize(images[0]);
    if (at.x < size.x && at.y < size.y) {
        vec2 uv = (vec2(at) + 0.5) / vec2(size);
        float sum = 0.0;
#ifdef CONSTANT
        sum += textureLod(sampler2D(textures[0], samplers[0]), uv, 0.0).x;
        sum += textureLod(sampler2D(textures[1], samplers[1]), uv, 0.0).x;
        sum += textureLod(sampler2D(textures[2], samplers[0]), uv, 0.0).x;
        sum += textureLod(combined[0], uv, 0.0).x;
        sum += textureLod(combined[1], uv, 0.0).x;
        imageStore(images[0], at, vec4(sum));
        imageStore(images[1], at, imageLoad(images[1], at) + vec4(sum));
#else
        for (int i = 0; i < 3; i++) {
            sum += textureLod(sampler2D(textures[i], samplers[i & 1]), uv, 0.0).x;
        }
        for (int i = 0; i < 2; i++) {
            sum += textureLod(combined[i], uv, 0.0).x;
        }
        for (int i = 0; i < 2; i++) {
            imageStore(images[i], at, float(i) * imageLoad(images[i], at) + vec4(sum));
        }
#endif
    }
}
