// Every item of a width * height * depth range writes its global id, three components, at its own linear
// position. Reads no other id, so the range may be cut into work-groups in any way.
#version 450
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1, local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(push_constant) uniform Push { uint width; uint height; uint depth; };
layout(std430, set = 0, binding = 0) buffer GLOBAL_ID { uint global_id[]; };

void main() {
    uvec3 at = gl_GlobalInvocationID;
    if (at.x >= width || at.y >= height || at.z >= depth) return;
    uint i = 3 * ((at.z * height + at.y) * width + at.x);
    global_id[i] = at.x;
    global_id[i + 1] = at.y;
    global_id[i + 2] = at.z;
}
