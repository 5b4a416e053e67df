// Root mean square normalization and a product. Both have two push constants, in another order and with other
// values.
#version 450
layout(local_size_x = 16) in;
layout(std430, binding = 0) buffer A { float a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
layout(std430, binding = 2) buffer C { float c[]; };

#if defined(NORM)
layout(push_constant) uniform Push { uint n; float epsilon; };
#else
layout(push_constant) uniform Push { float scale; uint n; };
#endif
uint g = gl_WorkGroupID.x, l = gl_LocalInvocationID.x, i = g * 16 + l;

void main() {
#if defined(NORM)
    float sum = 0;
    for (uint k = 0; k < n; k++) sum += a[16 * g + k] * a[16 * g + k];
    b[i] = a[i] * inversesqrt(sum / float(n) + epsilon);
#elif defined(MULTIPLY)
    c[i] = l < n ? a[i] * b[l] * scale : 0.0;
#endif
}
