#version 450
// dst[i] = src[i] * factor: a uniform buffer in set 0 and storage buffers in set 2, none in set 1.
layout(local_size_x = 64) in;
layout(std140, set = 0, binding = 3) uniform Params { uint factor; };
layout(std430, set = 2, binding = 0) buffer Src { uint src[]; };
layout(std430, set = 2, binding = 5) buffer Dst { uint dst[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < dst.length()) dst[i] = src[i] * factor;
}
