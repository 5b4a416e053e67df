#version 450
// Texels of a work-group, those of each line backwards.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, r32f) readonly uniform image2D from;
layout(set = 0, binding = 1, r32f) writeonly uniform image2D to;

void main() {
    ivec2 first = ivec2(gl_WorkGroupID.xy * 8);
    ivec2 local = ivec2(gl_LocalInvocationID.xy);
    imageStore(to, first + local, imageLoad(from, first + ivec2(7 - local.x, local.y)));
}
