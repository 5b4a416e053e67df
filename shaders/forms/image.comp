// Reads a storage image. Such a kernel passes through unfused.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(set = 0, binding = 0, r32f) uniform readonly image2D picture;
layout(std430, set = 0, binding = 1) buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    z[i] = imageLoad(picture, ivec2(int(i), 0)).x;
}
