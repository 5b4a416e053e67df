#version 450
// Floats in place.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Z { float z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = uintBitsToFloat(floatBitsToUint(z[i]) ^ 0x55u);
}
