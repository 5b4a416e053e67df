#version 450
// Four elements an invocation; the index goes beside the counter that is tested.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform P { uint n; } p;

void main() {
    uint i = gl_WorkGroupID.x * 256u + gl_LocalInvocationID.x;
    for (uint k = 0u; k < 4u; ++k) {
        if (i < p.n) {
            b[i] = a[i] * 1.5;
        }
        i += 64u;
    }
}
