// z = x * y on f32, the HLSL twin of mul.comp. The work-group size is a literal here.
[[vk::push_constant]] cbuffer Push { uint n; };
[[vk::binding(0, 0)]] RWStructuredBuffer<float> x;
[[vk::binding(1, 0)]] RWStructuredBuffer<float> y;
[[vk::binding(2, 0)]] RWStructuredBuffer<float> z;

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    if (id.x >= n) return;
    z[id.x] = x[id.x] * y[id.x];
}
