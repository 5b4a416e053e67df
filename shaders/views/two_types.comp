#version 450
// One binding as words and as floats, the same element through both in turn.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 0) buffer F { float f[]; };
layout(set = 0, binding = 1) buffer Z { uint z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    a[i] = a[i] + 3u;
    float x = f[i];
    f[i] = uintBitsToFloat(floatBitsToUint(x) * 5u);
    z[i] = a[i];
}
