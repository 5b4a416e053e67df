// Waits for a value that is never written.
#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) buffer X { uint x[]; };
void main() {
    while (x[0] == 0) {}
}
