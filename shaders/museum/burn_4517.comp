// The same expression in both arms of a choice inside a loop, and after it.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(FOLD)
    uint value = a[i];
    for (uint k = 0; k < 5; k++) {
        if ((value & 1) == 0) value = value / 2 + (value ^ k);
        else value = 3 * value + (value ^ k);
    }
    b[i] = value + (a[i] ^ 4);
#endif
}
