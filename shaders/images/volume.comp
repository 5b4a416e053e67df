#version 450
// Numbers of a volume, in place: each times three plus one. Coordinates are not checked against the size.
layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;
layout(set = 0, binding = 0, r32ui) uniform uimage3D volume;

void main() {
    ivec3 at = ivec3(gl_GlobalInvocationID);
    imageStore(volume, at, imageLoad(volume, at) * 3u + 1u);
}
