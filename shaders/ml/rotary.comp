#version 450
// Rotates pairs of elements of each row, half a row apart, by an angle that grows with the row.
layout(local_size_y = 256) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer T { float angles[]; };
layout(set = 0, binding = 2) writeonly buffer D { float d[]; };
layout(push_constant) uniform P { uint row; uint rotated; } p;

void main() {
    uint x = 2 * gl_GlobalInvocationID.y;
    uint y = gl_GlobalInvocationID.x;
    if (x >= p.row) {
        return;
    }
    if (x >= p.rotated) {
        uint i = y * p.row + x;
        d[i] = a[i];
        d[i + 1] = a[i + 1];
        return;
    }
    uint i = y * p.row + x / 2;
    float angle = float(y) * angles[x / 2];
    float u = a[i];
    float v = a[i + p.rotated / 2];
    d[i] = u * cos(angle) - v * sin(angle);
    d[i + p.rotated / 2] = u * sin(angle) + v * cos(angle);
}
