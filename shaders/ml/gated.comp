#version 450
// SwiGLU: the first half of each row, through SiLU, times the second half, or times another tensor.
layout(local_size_x = 512) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer D { float d[]; };
layout(push_constant) uniform P { uint count; uint half_row; uint row; uint split; } p;

void main() {
    uint i = gl_GlobalInvocationID.z * 262144 + gl_GlobalInvocationID.y * 512 + gl_GlobalInvocationID.x;
    if (i >= p.count) {
        return;
    }
    uint y = i / p.half_row;
    uint x = i % p.half_row;
    uint from = y * p.row + x;
    float gate = a[from];
    float up = p.split != 0 ? b[from] : a[from + p.half_row];
    d[i] = gate / (1.0 + exp(-gate)) * up;
}
