// Outside the subset.
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, r32ui) uniform uimageCube image;
layout(std430, set = 0, binding = 1) buffer X { uint x[]; };
void main() {
    x[0] = imageLoad(image, ivec3(0)).x;
}
