#version 450
// A uniform buffer, nested push constants, and a binding that is declared and never used.
layout(local_size_x = 16) in;
struct Range { uint first; int step; };
layout(set = 0, binding = 4, std140) uniform Params { vec4 tint; float gains[3]; mat4 m; } params;
layout(set = 0, binding = 5, std430) buffer Unused { float x[]; } unused;
layout(set = 0, binding = 2, std430) buffer Pixels { uint head; vec4 px[]; } pixels;
layout(push_constant) uniform Push { layout(offset = 16) Range range; vec2 origin; uint flags[2]; } push;
void main() {
    uint i = gl_GlobalInvocationID.x * uint(push.range.step) + push.range.first + push.flags[1];
    pixels.px[i] = params.m * pixels.px[i] * params.gains[1] + params.tint + vec4(push.origin, 0, 0);
}
