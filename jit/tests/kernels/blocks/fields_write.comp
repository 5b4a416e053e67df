// The bits of the invocation's number, taken apart and put together again.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer T { uint t[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    t[bitfieldExtract(i, 3, 5) * 8u + bitfieldExtract(i, 0, 3)] = a[i] + 1u;
}
