// Attention of one new position to those in a cache, for heads of 64 elements where several share keys and values: the rotary position of a head's
// elements, how much each position counts for each head, by a work-group each, and the sum of the values, by a work-group for each head.
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint positions; uint share; uint width; };
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { float b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer D { float d[]; };

#if defined SCORES
shared float parts[64];

void main() {
    uint own = gl_LocalInvocationID.x, position = gl_WorkGroupID.x, head = gl_WorkGroupID.y;
    float sum = subgroupAdd(a[head * 64 + own] * b[position * width + head / share * 64 + own]);
    if (gl_SubgroupInvocationID == 0) parts[gl_SubgroupID] = sum;
    barrier();
    if (own != 0) return;
    sum = 0.0;
    for (uint s = 0; s < gl_NumSubgroups; s++) sum += parts[s];
    d[head * positions + position] = sum;
}
#elif defined ROTARY
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= width / 2) return;
    uint head = i / 32, k = i % 32;
    float angle = float(positions - 1) * b[k], c = cos(angle), s = sin(angle);
    float x = a[head * 64 + k], y = a[head * 64 + k + 32];
    d[head * 64 + k] = x * c - y * s;
    d[head * 64 + k + 32] = x * s + y * c;
}
#else
void main() {
    uint own = gl_LocalInvocationID.x, head = gl_WorkGroupID.x;
    float sum = 0.0;
    for (uint k = 0; k < positions; k++) sum += a[head * positions + k] * b[k * width + head / share * 64 + own];
    d[head * 64 + own] = sum;
}
#endif
