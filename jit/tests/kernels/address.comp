#version 450
#extension GL_EXT_buffer_reference : require
// Device addresses: fuses only when it is trusted.
layout(local_size_x = 8) in;
layout(buffer_reference, std430) buffer Node { float value; };
layout(push_constant) uniform Push { Node node; } push;
void main() { push.node.value += 1.0; }
