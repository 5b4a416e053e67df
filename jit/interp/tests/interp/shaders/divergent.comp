// Some invocations never reach a barrier.
#version 450
layout(local_size_x = 8) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
shared uint tile[8];
void main() {
    uint i = gl_LocalInvocationID.x;
#ifdef EARLY
    if (i >= n) return;
    tile[i] = x[i];
    barrier();
#else
    tile[i] = x[i];
    if (i < n) barrier(); else { tile[i] += 1; barrier(); }
#endif
    x[i] = tile[i] + 1;
}
