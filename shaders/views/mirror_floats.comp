#version 450
// The mirrored element of the work-group, as a float.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { float a[]; };
layout(set = 0, binding = 1) buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint l = gl_LocalInvocationID.x;
    z[i] = floatBitsToUint(a[i - l + 63u - l]);
}
