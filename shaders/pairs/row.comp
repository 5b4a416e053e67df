// RMS norm of rows by one invocation, by a work-group, or by a sub-group; rotary positions of rows; rows to the places in a cache, of floats or halves, that a
// buffer says.
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#if defined CACHE_HALF
#extension GL_EXT_shader_16bit_storage : require
#define CACHE
#define REAL float16_t
#else
#define REAL float
#endif
#if defined SUBGROUP
layout(local_size_x = 32) in;
#else
layout(local_size_x = 64) in;
#endif
layout(push_constant) uniform Push { uint rows; uint length; };
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
#if defined CACHE
layout(std430, set = 0, binding = 1) readonly buffer B { uint b[]; };
#else
layout(std430, set = 0, binding = 1) readonly buffer B { float b[]; };
#endif
layout(std430, set = 0, binding = 2) writeonly buffer D { REAL d[]; };

#if defined THREAD
void main() {
    uint row = gl_GlobalInvocationID.x;
    if (row >= rows) return;
    float sum = 0.0;
    for (uint k = 0; k < length; k++) sum += a[row * length + k] * a[row * length + k];
    float scale = inversesqrt(sum / float(length) + 1e-5);
    for (uint k = 0; k < length; k++) d[row * length + k] = a[row * length + k] * scale;
}
#elif defined GROUP || defined SUBGROUP
shared float parts[64];

void main() {
    uint own = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
    float sum = 0.0;
    for (uint k = own; k < length; k += gl_WorkGroupSize.x) sum += a[row * length + k] * a[row * length + k];
#if defined GROUP
    parts[own] = sum;
    barrier();
    for (uint step = 32; step > 0; step >>= 1) {
        if (own < step) parts[own] += parts[own + step];
        barrier();
    }
    sum = parts[0];
#else
    sum = subgroupAdd(sum);
    if (gl_SubgroupInvocationID == 0) parts[gl_SubgroupID] = sum;
    barrier();
    sum = 0.0;
    for (uint s = 0; s < gl_NumSubgroups; s++) sum += parts[s];
#endif
    float scale = inversesqrt(sum / float(length) + 1e-5);
    for (uint k = own; k < length; k += gl_WorkGroupSize.x) d[row * length + k] = a[row * length + k] * scale;
}
#elif defined ROPE
void main() {
    uint i = gl_GlobalInvocationID.x, part = length / 2;
    if (i >= rows * part) return;
    uint row = i / part, k = i % part;
    float angle = float(row) * b[k], c = cos(angle), s = sin(angle);
    float x = a[row * length + k], y = a[row * length + k + part];
    d[row * length + k] = x * c - y * s;
    d[row * length + k + part] = x * s + y * c;
}
#elif defined TURN
// Neighbours instead of halves.
void main() {
    uint i = gl_GlobalInvocationID.x, part = length / 2;
    if (i >= rows * part) return;
    uint row = i / part, k = i % part;
    float angle = float(row) * b[k], c = cos(angle), s = sin(angle);
    float x = a[2 * i], y = a[2 * i + 1];
    d[2 * i] = x * c - y * s;
    d[2 * i + 1] = x * s + y * c;
}
#elif defined CACHE
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= rows * length) return;
    d[b[i / length] * length + i % length] = REAL(a[i]);
}
#elif defined TOP
// The four greatest of a row, by a work-group, and where they are.
shared float best[64];
shared uint at[64];

void main() {
    uint own = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
    float value = own < length ? a[row * length + own] : -1e30;
    for (uint k = 0; k < 4; k++) {
        best[own] = value;
        at[own] = own;
        barrier();
        for (uint step = 32; step > 0; step >>= 1) {
            if (own < step && best[own + step] > best[own]) {
                best[own] = best[own + step];
                at[own] = at[own + step];
            }
            barrier();
        }
        if (own == 0) d[row * 4 + k] = best[0];
        if (own == at[0]) value = -1e30;
        barrier();
    }
}
#else
// Softmax of four each.
void main() {
    uint row = gl_GlobalInvocationID.x;
    if (row >= rows) return;
    float most = a[row * 4];
    for (uint k = 1; k < 4; k++) most = max(most, a[row * 4 + k]);
    float sum = 0.0;
    for (uint k = 0; k < 4; k++) sum += exp(a[row * 4 + k] - most);
    for (uint k = 0; k < 4; k++) d[row * 4 + k] = exp(a[row * 4 + k] - most) / sum;
}
#endif
