// HLSL through glslang: a constant buffer, structured buffers, shared memory.
cbuffer Params : register(b3) { uint count; float3 gain; float4x4 m; };
struct Item { float4 value; uint tag; };
[[vk::binding(0)]] RWStructuredBuffer<Item> items;
[[vk::binding(1)]] StructuredBuffer<float> weights;
[[vk::binding(2)]] RWByteAddressBuffer raw;
groupshared float tile[32];
float weigh(float w) { if (w < 0) return 0; return w * gain.x; }
[numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint l : SV_GroupIndex) {
    if (id.x >= count) return;
    tile[l] = weights[id.x];
    GroupMemoryBarrierWithGroupSync();
    Item item = items[id.x];
    item.value = mul(m, item.value) * weigh(tile[31 - l]);
    items[id.x] = item;
    raw.Store(id.x * 4, item.tag);
}
