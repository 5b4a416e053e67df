#version 450
// A copy step of a pipeline file: words from one buffer to another, from a first one on each. fusion/cli/src/pipeline/steps has a
// copy of the compiled file.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer From { uint from[]; };
layout(set = 0, binding = 1) writeonly buffer To { uint to[]; };
layout(push_constant) uniform P { uint n; uint first_from; uint first_to; } p;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < p.n) {
        to[p.first_to + i] = from[p.first_from + i];
    }
}
