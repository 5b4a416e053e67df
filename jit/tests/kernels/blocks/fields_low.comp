// Three bits of the invocation's number.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer T { uint t[]; };
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = t[bitfieldExtract(i, 0, 3)];
}
