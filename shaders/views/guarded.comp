#version 450
// Words below a limit.
layout(local_size_x = 64) in;
layout(push_constant) uniform P { uint n; };
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        z[i] = a[i] + 3u;
}
