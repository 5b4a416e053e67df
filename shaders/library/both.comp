#version 450
// Four elements an invocation, as long as there are any; counted down.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform P { uint n; } p;

void main() {
    uint i = gl_WorkGroupID.x * 256u + gl_LocalInvocationID.x;
    for (int k = 3; k >= 0 && i < p.n; --k) {
        b[i] = a[i] * a[i];
        i += 64u;
    }
}
