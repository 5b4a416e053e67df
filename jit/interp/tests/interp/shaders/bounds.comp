// Reads or writes at an offset from the own element.
#version 450
layout(local_size_x = 4) in;
layout(push_constant) uniform Push { int offset; };
layout(std430, set = 0, binding = 0) buffer X { uint head; uint x[]; };
layout(std430, set = 0, binding = 1) buffer Z { uint z[]; };
shared uint tile[4];
void main() {
    int i = int(gl_LocalInvocationID.x);
    tile[i] = 5;
    barrier();
    KIND;
}
