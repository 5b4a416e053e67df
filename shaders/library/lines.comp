#version 450
// Lines of as many elements as a uniform buffer says, or a storage buffer.
#ifdef STORAGE
#define BLOCK readonly buffer
#else
#define BLOCK uniform
#endif
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer B { float b[]; };
layout(set = 0, binding = 2) BLOCK U { float offset; uint width; } u;

void main() {
    uint x = gl_GlobalInvocationID.x;
    if (x >= u.width) {
        return;
    }
    uint i = gl_GlobalInvocationID.y * u.width + x;
    b[i] = a[i] + u.offset;
}
