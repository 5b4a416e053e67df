// Layers of nets for images, in planes of width times height, a plane for each channel: convolutions of 3 x 3 with a border of zeros, what follows them,
// and the matrix that makes a product of one.
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { int width; int height; int inputs; int outputs; };
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { float b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer D { float d[]; };

int place(int x, int y, int plane) { return (plane * height + y) * width + x; }

float pixel(int x, int y, int plane) {
    if (x < 0 || y < 0 || x >= width || y >= height) return 0.0;
    return a[place(x, y, plane)];
}

#if defined WINOGRAD
// A square of 2 x 2 pixels an invocation, of squares of 4 x 4; b are weights that were transformed, 16 for each pair of channels.
void main() {
    int x = 2 * int(gl_GlobalInvocationID.x), y = 2 * int(gl_GlobalInvocationID.y), z = int(gl_GlobalInvocationID.z);
    if (x >= width || y >= height || z >= outputs) return;
    float sums[4][4];
    for (int j = 0; j < 4; j++) for (int i = 0; i < 4; i++) sums[j][i] = 0.0;
    for (int k = 0; k < inputs; k++) {
        float lines[4][4];
        for (int i = 0; i < 4; i++) {
            float p0 = pixel(x + i - 1, y - 1, k), p1 = pixel(x + i - 1, y, k);
            float p2 = pixel(x + i - 1, y + 1, k), p3 = pixel(x + i - 1, y + 2, k);
            lines[0][i] = p0 - p2;
            lines[1][i] = p1 + p2;
            lines[2][i] = p2 - p1;
            lines[3][i] = p1 - p3;
        }
        for (int j = 0; j < 4; j++) {
            int of = ((z * inputs + k) * 4 + j) * 4;
            sums[j][0] += (lines[j][0] - lines[j][2]) * b[of];
            sums[j][1] += (lines[j][1] + lines[j][2]) * b[of + 1];
            sums[j][2] += (lines[j][2] - lines[j][1]) * b[of + 2];
            sums[j][3] += (lines[j][1] - lines[j][3]) * b[of + 3];
        }
    }
    float made[2][4];
    for (int i = 0; i < 4; i++) {
        made[0][i] = sums[0][i] + sums[1][i] + sums[2][i];
        made[1][i] = sums[1][i] - sums[2][i] - sums[3][i];
    }
    bool is_right = x + 1 < width, is_below = y + 1 < height;
    d[place(x, y, z)] = made[0][0] + made[0][1] + made[0][2];
    if (is_right) d[place(x + 1, y, z)] = made[0][1] - made[0][2] - made[0][3];
    if (is_below) d[place(x, y + 1, z)] = made[1][0] + made[1][1] + made[1][2];
    if (is_right && is_below) d[place(x + 1, y + 1, z)] = made[1][1] - made[1][2] - made[1][3];
}
#else
void main() {
    int x = int(gl_GlobalInvocationID.x), y = int(gl_GlobalInvocationID.y), z = int(gl_GlobalInvocationID.z);
    if (x >= width || y >= height || z >= outputs) return;
#if defined DIRECT
    float sum = 0.0;
    for (int k = 0; k < inputs; k++)
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++)
                sum += pixel(x + i - 1, y + j - 1, k) * b[((z * inputs + k) * 3 + j) * 3 + i];
    d[place(x, y, z)] = sum;
#elif defined DEPTHWISE
    float sum = 0.0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) sum += pixel(x + i - 1, y + j - 1, z) * b[(z * 3 + j) * 3 + i];
    d[place(x, y, z)] = sum;
#elif defined DEPTHWISE_FLAT
    // The nine written one by one.
    int w = 9 * z;
    float sum = pixel(x - 1, y - 1, z) * b[w] + pixel(x, y - 1, z) * b[w + 1] + pixel(x + 1, y - 1, z) * b[w + 2];
    sum += pixel(x - 1, y, z) * b[w + 3] + pixel(x, y, z) * b[w + 4] + pixel(x + 1, y, z) * b[w + 5];
    sum += pixel(x - 1, y + 1, z) * b[w + 6] + pixel(x, y + 1, z) * b[w + 7] + pixel(x + 1, y + 1, z) * b[w + 8];
    d[place(x, y, z)] = sum;
#elif defined POINTWISE_ALL
    // Eight channels of a pixel an invocation, so that it is read once for all of them.
    float sums[8];
    for (int k = 0; k < 8; k++) sums[k] = 0.0;
    for (int k = 0; k < inputs; k++) {
        float own = a[place(x, y, k)];
        for (int j = 0; j < 8; j++) sums[j] += own * b[min(8 * z + j, outputs - 1) * inputs + k];
    }
    for (int j = 0; j < 8; j++) if (8 * z + j < outputs) d[place(x, y, 8 * z + j)] = sums[j];
#elif defined POINTWISE
    float sum = 0.0;
    for (int k = 0; k < inputs; k++) sum += a[place(x, y, k)] * b[z * inputs + k];
    d[place(x, y, z)] = sum;
#elif defined IM2COL
    // A row for each pixel: its nine neighbours in each channel, one of them in each z.
    d[(y * width + x) * outputs + z] = pixel(x + z % 3 - 1, y + z / 3 % 3 - 1, z / 9);
#elif defined NORM
    d[place(x, y, z)] = a[place(x, y, z)] * b[2 * z] + b[2 * z + 1];
#elif defined RELU
    d[place(x, y, z)] = max(a[place(x, y, z)], 0.0);
#else
    d[place(x, y, z)] = a[place(x, y, z)] + b[place(x, y, z)];
#endif
}
#endif
