#version 450
// Padding in an inference library: planes packed by four channels in a border of a constant, of a number for each channel, or of what
// is next to it. One kernel takes one, two and three dimensions; a push constant says how many there are.
layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 2) writeonly buffer D { vec4 d[]; };
layout(push_constant) uniform P {
    int dims;
    int w; int h; int step;
    int outw; int outh; int planes; int outstep;
    int left; int top;
} p;

void main() {
    int gx = int(gl_GlobalInvocationID.x);
    int gy = int(gl_GlobalInvocationID.y);
    int gz = int(gl_GlobalInvocationID.z);
    if (gx >= p.outw || gy >= p.outh || gz >= p.planes) {
        return;
    }
    int x = gx - p.left;
    int y = gy - p.top;
    if (p.dims == 1) {
        if (x >= 0 && x < p.w) {
            d[gx] = a[x];
        } else {
            d[gx] = vec4(0.5);
        }
    } else if (p.dims == 2) {
        int i = gy * p.outw + gx;
        if (x >= 0 && x < p.w && y >= 0 && y < p.h) {
            d[i] = a[y * p.w + x];
        } else {
            d[i] = vec4(0.5);
        }
    } else if (p.dims == 3) {
        int i = gz * p.outstep + gy * p.outw + gx;
#if defined REPLICATE
        x = clamp(x, 0, p.w - 1);
        y = clamp(y, 0, p.h - 1);
        d[i] = a[gz * p.step + y * p.w + x];
#else
        if (x >= 0 && x < p.w && y >= 0 && y < p.h) {
            d[i] = a[gz * p.step + y * p.w + x];
        } else {
#if defined CHANNEL
            d[i] = b[gz];
#else
            d[i] = vec4(0.5);
#endif
        }
#endif
    }
}
