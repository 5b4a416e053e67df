// Writes its element unless it returns from inside a loop.
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
uint i = gl_GlobalInvocationID.x;

void main() {
#if defined(FOR)
    for (uint k = 0; k < 4; k++) if (a[(i + k) % 256] > 200) return;
    b[i] = a[i];
#elif defined(WHILE)
    uint k = 0;
    while (k < 4) { if (a[(i + k) % 256] > 200) return; k++; }
    b[i] = a[i];
#elif defined(DO)
    uint k = 0;
    do { if (a[(i + k) % 256] > 200) return; k++; } while (k < 4);
    b[i] = a[i];
#elif defined(NESTED)
    for (uint j = 0; j < 2; j++)
        for (uint k = 0; k < 2; k++)
            if (a[(i + 2 * j + k) % 256] > 200) return;
    b[i] = a[i];
#elif defined(SWITCH)
    for (uint k = 0; k < 4; k++) {
        switch (a[(i + k) % 256] / 67) { case 3: return; case 1: break; default: continue; }
    }
    b[i] = a[i];
#elif defined(DOUBLE)
    b[i] = 2 * a[i];
#endif
}
