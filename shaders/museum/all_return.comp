// Rows of 32: one work-group of 32 writes them, and one of 8, all of whose invocations return from one side of a branch or the other, reads them.
#version 450
#if defined(WRITE)
layout(local_size_x = 32) in;
#else
layout(local_size_x = 8) in;
#endif
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
layout(std430, binding = 2) buffer C { uint c[]; };
shared uint part[32];
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x;

void main() {
#if defined(WRITE)
    part[l] = a[32 * g + l];
    barrier();
    b[32 * g + l] = 7 * part[31 - l];
#elif defined(READ)
    part[l] = 3 * b[32 * g + l] + b[32 * g + 8 + l];
    barrier();
    uint own = part[7 - l];
    if (own % 2 == 0) {
        c[8 * g + l] = own;
        return;
    } else {
        c[8 * g + l] = 5 * own + 1;
        return;
    }
#endif
}
