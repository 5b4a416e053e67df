#version 450
// A depthwise convolution in an inference library: nine weights and an offset for each plane of four channels. What it reads is padded.
layout(local_size_x = 8, local_size_y = 8, local_size_z = 1) in;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 2) writeonly buffer D { vec4 d[]; };
layout(push_constant) uniform P { int w; int h; int step; int outw; int outh; int planes; int outstep; } p;

void main() {
    int gx = int(gl_GlobalInvocationID.x);
    int gy = int(gl_GlobalInvocationID.y);
    int gz = int(gl_GlobalInvocationID.z);
    if (gx >= p.outw || gy >= p.outh || gz >= p.planes) {
        return;
    }
    vec4 sum = b[gz * 10 + 9];
    for (int v = 0; v < 3; v++) {
        for (int u = 0; u < 3; u++) {
            sum += a[gz * p.step + (gy + v) * p.w + gx + u] * b[gz * 10 + v * 3 + u];
        }
    }
    d[gz * p.outstep + gy * p.outw + gx] = max(sum, vec4(0.0));
}
