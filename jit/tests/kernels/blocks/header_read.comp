// The whole block as one array.
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 1) writeonly buffer Z { uint z[]; };
layout(set = 0, binding = 0) buffer T { uint all[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    z[i] = all[i + 4u];
}
