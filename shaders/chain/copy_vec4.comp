// y = x in 16-byte steps: the memory bandwidth a kernel can reach. `n` counts vectors. fusion/cli/src/bench has a copy of the compiled file.
#version 450
layout(local_size_x = 256, local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; };
layout(std430, set = 0, binding = 0) readonly restrict buffer X { vec4 x[]; };
layout(std430, set = 0, binding = 1) writeonly restrict buffer Y { vec4 y[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    y[i] = x[i];
}
