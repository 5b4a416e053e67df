// A buffer whose first member is a count and whose second is the data: z.data = 2 * x.data below the count.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) buffer X { uint count; float data[]; } x;
layout(std430, set = 0, binding = 1) buffer Z { uint count; float data[]; } z;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i == 0) z.count = x.count;
    if (i >= x.count) return;
    z.data[i] = 2.0 * x.data[i];
}
