// What is done to each element of a matrix of rows: a bias or a weight of its column, GELU, another matrix added or multiplied, SiLU times another,
// or SiLU of the first half of each row times the second.
#version 450
#extension GL_EXT_shader_16bit_storage : require
#if defined BIAS_HALF || defined GELU_HALF || defined ADD_HALF || defined GATE_HALF || defined SWIGLU_HALF
#define REAL float16_t
#else
#define REAL float
#endif
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint count; uint row; };
layout(std430, set = 0, binding = 0) readonly buffer A { REAL a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { REAL b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer D { REAL d[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
#if defined SPLIT
    uint from = i / row * 2 * row + i % row;
    d[i] = a[from] / (1.0 + exp(-a[from])) * a[from + row];
#else
    float own = float(a[i]);
#if defined BIAS || defined BIAS_HALF
    own += float(b[i % row]);
#elif defined WEIGHT
    own *= b[i % row];
#elif defined GELU || defined GELU_HALF
    own = 0.5 * own * (1.0 + tanh(0.7978845608 * (own + 0.044715 * own * own * own)));
#elif defined ADD || defined ADD_HALF
    own += float(b[i]);
#elif defined GATE || defined GATE_HALF
    own *= float(b[i]);
#else
    own = own / (1.0 + exp(-own)) * float(b[i]);
#endif
    d[i] = REAL(own);
#endif
}
