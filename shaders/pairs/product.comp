// y = x wᵗ in the ways in which libraries do it, with weights in rows: x is rows x inner, w is columns x inner. Floats, halves throughout (summed as
// floats), or floats and weights in blocks of 32 with four bits each and a scale, as q4_0 has them.
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#if defined NAIVE_HALF || defined TILED_HALF || defined BLOCKED_HALF || defined THREAD_HALF || defined GROUP_HALF || defined SUBGROUP_HALF
#define HALF
#define REAL float16_t
#else
#define REAL float
#endif
#if defined NAIVE || defined NAIVE_HALF || defined NAIVE_Q4 || defined TILED || defined TILED_HALF || defined TILED_Q4
layout(local_size_x = 16, local_size_y = 16) in;
#else
layout(local_size_x = 64) in;
#endif
layout(push_constant) uniform Push { uint rows; uint columns; uint inner; };
layout(std430, set = 0, binding = 0) readonly buffer X { REAL x[]; };
#if defined NAIVE_Q4 || defined TILED_Q4 || defined BLOCKED_Q4 || defined THREAD_Q4 || defined GROUP_Q4 || defined SUBGROUP_Q4
struct Block { float16_t scale; uint16_t quants[8]; };
layout(std430, set = 0, binding = 1) readonly buffer W { Block w[]; };
float weight(uint i) {
    uint own = i % 32u;
    uint byte = uint(w[i / 32u].quants[own % 16u / 2u]) >> 8u * (own % 2u);
    return float(w[i / 32u].scale) * (float(byte >> 4u * (own / 16u) & 15u) - 8.0);
}
#else
layout(std430, set = 0, binding = 1) readonly buffer W { REAL w[]; };
float weight(uint i) { return float(w[i]); }
#endif
layout(std430, set = 0, binding = 2) writeonly buffer Y { REAL y[]; };

#if defined NAIVE || defined NAIVE_HALF || defined NAIVE_Q4
void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= columns || at.y >= rows) return;
    float sum = 0.0;
    for (uint k = 0; k < inner; k++) sum += float(x[at.y * inner + k]) * weight(at.x * inner + k);
    y[at.y * columns + at.x] = REAL(sum);
}

#elif defined TILED || defined TILED_HALF || defined TILED_Q4
shared float left[16][16];
shared float right[16][17];

void main() {
    uvec2 own = gl_LocalInvocationID.xy;
    uvec2 at = gl_GlobalInvocationID.xy;
    uint column = gl_WorkGroupID.x * 16 + own.y;
    float sum = 0.0;
    for (uint first = 0; first < inner; first += 16) {
        uint k = first + own.x;
        left[own.y][own.x] = at.y < rows && k < inner ? float(x[at.y * inner + k]) : 0.0;
        right[own.y][own.x] = column < columns && k < inner ? weight(column * inner + k) : 0.0;
        barrier();
        for (uint j = 0; j < 16; j++) sum += left[own.y][j] * right[own.x][j];
        barrier();
    }
    if (at.x < columns && at.y < rows) y[at.y * columns + at.x] = REAL(sum);
}

#elif defined BLOCKED || defined BLOCKED_HALF || defined BLOCKED_Q4
// A tile of 32 x 32: 4 x 4 for each invocation.
shared float left[8][32];
shared float right[8][32];

void main() {
    uint own = gl_LocalInvocationIndex;
    uint across = own % 8 * 4, down = own / 8 * 4;
    uint column = gl_WorkGroupID.x * 32, row = gl_WorkGroupID.y * 32;
    float sums[4][4];
    for (uint j = 0; j < 4; j++) for (uint i = 0; i < 4; i++) sums[j][i] = 0.0;
    for (uint first = 0; first < inner; first += 8) {
        for (uint at = own; at < 256; at += 64) {
            uint k = first + at % 8, line = at / 8;
            left[at % 8][line] = row + line < rows && k < inner ? float(x[(row + line) * inner + k]) : 0.0;
            right[at % 8][line] = column + line < columns && k < inner ? weight((column + line) * inner + k) : 0.0;
        }
        barrier();
        for (uint k = 0; k < 8; k++)
            for (uint j = 0; j < 4; j++)
                for (uint i = 0; i < 4; i++) sums[j][i] += left[k][down + j] * right[k][across + i];
        barrier();
    }
    for (uint j = 0; j < 4; j++)
        for (uint i = 0; i < 4; i++)
            if (row + down + j < rows && column + across + i < columns)
                y[(row + down + j) * columns + column + across + i] = REAL(sums[j][i]);
}

#elif defined THREAD || defined THREAD_HALF || defined THREAD_Q4
void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= columns) return;
    float sum = 0.0;
    for (uint k = 0; k < inner; k++) sum += float(x[k]) * weight(at * inner + k);
    y[at] = REAL(sum);
}

#else
// Two columns of a row for each work-group, which its first invocation stores.
shared float parts[2][64];

void main() {
    uint own = gl_LocalInvocationID.x, column = gl_WorkGroupID.x * 2, row = gl_WorkGroupID.y;
    float sums[2] = float[](0.0, 0.0);
    for (uint k = own; k < inner; k += 64)
        for (uint j = 0; j < 2; j++)
            if (column + j < columns) sums[j] += float(x[row * inner + k]) * weight((column + j) * inner + k);
#if defined GROUP || defined GROUP_HALF || defined GROUP_Q4
    for (uint j = 0; j < 2; j++) parts[j][own] = sums[j];
    barrier();
    for (uint step = 32; step > 0; step >>= 1) {
        if (own < step) for (uint j = 0; j < 2; j++) parts[j][own] += parts[j][own + step];
        barrier();
    }
    if (own == 0)
        for (uint j = 0; j < 2; j++)
            if (column + j < columns) y[row * columns + column + j] = REAL(parts[j][0]);
#else
    for (uint j = 0; j < 2; j++) {
        float sum = subgroupAdd(sums[j]);
        if (gl_SubgroupInvocationID == 0) parts[j][gl_SubgroupID] = sum;
    }
    barrier();
    if (own == 0)
        for (uint j = 0; j < 2; j++) {
            float sum = 0.0;
            for (uint s = 0; s < gl_NumSubgroups; s++) sum += parts[j][s];
            if (column + j < columns) y[row * columns + column + j] = REAL(sum);
        }
#endif
}
#endif
