#version 450
#extension GL_EXT_buffer_reference : require
// A list in device memory: its pointer type leads to itself. Runs unfused only.
layout(local_size_x = 8) in;
layout(buffer_reference) buffer Node;
layout(buffer_reference, std430) buffer Node { Node next; float value; };
layout(push_constant) uniform Push { Node first; } push;
void main() {
    Node node = push.first;
    for (uint i = 0; i < gl_GlobalInvocationID.x; i++) node = node.next;
    node.value += 1.0;
}
