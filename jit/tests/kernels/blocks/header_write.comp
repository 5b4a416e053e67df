// An array behind a header that the other kernel knows nothing of.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer T { uint n; uint m; uvec2 k; uint t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    t[i] = a[i] * 3u + 1u;
}
