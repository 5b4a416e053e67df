#version 450
// The lengths of one binding as words and as vectors.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 0) buffer V { uvec4 v[]; };
layout(set = 0, binding = 1) buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < a.length())
        z[i] = a[i] + v.length() + a.length();
}
