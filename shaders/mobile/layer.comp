#version 450
// Layers of an inference library: planes of width times height, packed by four channels, with a distance between planes that is rounded
// up. Specialization constants hold the shape, or zeros, where push constants do.
layout(constant_id = 0) const int fixed_width = 0;
layout(constant_id = 1) const int fixed_height = 0;
layout(constant_id = 2) const int fixed_planes = 0;
layout(constant_id = 3) const int fixed_step = 0;
layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 2) writeonly buffer D { vec4 d[]; };
layout(push_constant) uniform P { int width; int height; int planes; int step; } p;
#define given(what) (fixed_##what == 0 ? p.what : fixed_##what)

void main() {
    int x = int(gl_GlobalInvocationID.x);
    int y = int(gl_GlobalInvocationID.y);
    int z = int(gl_GlobalInvocationID.z);
    if (x >= given(width) || y >= given(height) || z >= given(planes)) {
        return;
    }
    int i = z * given(step) + y * given(width) + x;
#if defined ADD
    d[i] = a[i] + b[i];
#elif defined RELU
    d[i] = max(a[i], vec4(0.0));
#else
    // Batch norm: a scale and an offset for each channel.
    d[i] = a[i] * b[2 * z] + b[2 * z + 1];
#endif
}
