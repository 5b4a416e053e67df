// Two variables on one binding, and their lengths.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer T { uint t[]; };
layout(set = 0, binding = 1) buffer V { uint h[4]; uint v[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    t[i] = a[i] + uint(t.length()) * 1000u + uint(v.length());
}
