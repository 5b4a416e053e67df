#version 450
#extension GL_EXT_buffer_reference : require
// Two restricted pointers (declared not to alias any other); one of them is chosen at run time.
layout(local_size_x = 8) in;
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Word { uint x; };
layout(push_constant) uniform Push { Word a; Word b; };

void main() {
    restrict Word words[2];
    words[0] = a;
    words[1] = b;
    words[gl_GlobalInvocationID.x & 1u].x += 1u;
}
