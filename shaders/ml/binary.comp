#version 450
// Elementwise operations on two tensors of four dimensions with strides; the second one is broadcast where it is smaller. Two elements an
// invocation, half a work-group apart; more than 65535 work-groups fold into y and z.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer D { float d[]; };
layout(push_constant) uniform P {
    uint count;
    uvec4 size;
    uvec4 stride_a;
    uvec4 size_b;
    uvec4 stride_b;
    uvec4 stride_d;
} p;

uint place(uvec4 at, uvec4 stride) {
    return at.x * stride.x + at.y * stride.y + at.z * stride.z + at.w * stride.w;
}

void main() {
    uint group = gl_WorkGroupID.z * 262144 + gl_WorkGroupID.y * 512 + gl_WorkGroupID.x;
    uint i = group * 512 + gl_LocalInvocationID.x;
    for (uint round = 0; round < 2; ++round) {
        if (i >= p.count) {
            continue;
        }
        uint row = i / p.size.x;
        uint plane = row / p.size.y;
        uvec4 at = uvec4(i - row * p.size.x, row - plane * p.size.y, plane % p.size.z, plane / p.size.z);
        float x = a[place(at, p.stride_a)];
        float y = b[place(at % p.size_b, p.stride_b)];
#ifdef MUL
        d[place(at, p.stride_d)] = x * y;
#else
        d[place(at, p.stride_d)] = x + y;
#endif
        i += 256;
    }
}
