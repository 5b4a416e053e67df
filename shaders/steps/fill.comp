#version 450
// A fill step of a pipeline file: two words in turn from a first one on, which are one number of 64 bits or twice the same word.
// fusion/cli/src/pipeline/steps has a copy of the compiled file.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) writeonly buffer To { uint to[]; };
layout(push_constant) uniform P { uint n; uint first; uint low; uint high; } p;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < p.n) {
        to[p.first + i] = (i & 1u) != 0u ? p.high : p.low;
    }
}
