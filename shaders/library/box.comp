#version 450
// Channels of planes; the planes lie `plane` elements apart.
layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform P { uint width; uint height; uint channels; uint plane; } p;

void main() {
    uvec3 at = gl_GlobalInvocationID;
    if (at.x >= p.width || at.y >= p.height || at.z >= p.channels) {
        return;
    }
    uint i = at.z * p.plane + at.y * p.width + at.x;
    b[i] = max(a[i], 0.0);
}
