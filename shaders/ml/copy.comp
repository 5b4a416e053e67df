#version 450
#extension GL_EXT_shader_16bit_storage : require
// Copies between f32 and f16, an element an invocation.
layout(local_size_x = 512) in;
#ifdef NARROW
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer D { float16_t d[]; };
#else
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) writeonly buffer D { float d[]; };
#endif
layout(push_constant) uniform P { uint count; } p;

void main() {
    uint i = gl_GlobalInvocationID.y * 512 + gl_GlobalInvocationID.x;
    if (i >= p.count) {
        return;
    }
#ifdef NARROW
    d[i] = float16_t(a[i]);
#else
    d[i] = float(a[i]);
#endif
}
