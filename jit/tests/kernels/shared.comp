#version 450
// A reduction in shared memory with the kernel's own barriers.
layout(local_size_x = 128) in;
layout(set = 0, binding = 0, std430) readonly buffer In { float x[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Out { float sum[]; };
shared float tile[128];
shared vec3 extra[3];
void main() {
    uint l = gl_LocalInvocationID.x;
    tile[l] = x[gl_GlobalInvocationID.x];
    extra[l % 3] = vec3(tile[l]);
    barrier();
    for (uint s = 64; s > 0; s >>= 1) {
        if (l < s) tile[l] += tile[l + s];
        barrier();
    }
    if (l == 0) sum[gl_WorkGroupID.x] = tile[0] + extra[0].x;
}
