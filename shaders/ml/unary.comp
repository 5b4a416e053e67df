#version 450
// Functions of one element. An element an invocation; more than 512 work-groups fold into y and z.
layout(local_size_x = 512) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer D { float d[]; };
layout(push_constant) uniform P { uint count; float first; float second; } p;

void main() {
    uint i = gl_GlobalInvocationID.z * 262144 + gl_GlobalInvocationID.y * 512 + gl_GlobalInvocationID.x;
    if (i >= p.count) {
        return;
    }
    float x = a[i];
#if defined SILU
    d[i] = x / (1.0 + exp(-x));
#elif defined RELU
    d[i] = max(x, 0.0);
#elif defined CAP
    d[i] = p.second * tanh(x * p.first);
#else
    d[i] = x * p.first + p.second;
#endif
}
