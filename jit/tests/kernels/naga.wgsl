// Two entry points that share helpers; the buffer and the work-group variable share a type.
struct Params { n: u32, scale: f32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> tile: array<f32, 64>;
fn scaled(x: f32) -> f32 { if (x < 0.0) { return 0.0; } return x * params.scale; }
@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= params.n) { return; }
    b[id.x] = scaled(a[id.x]);
}
@compute @workgroup_size(8, 8)
fn tiled(@builtin(local_invocation_index) l: u32, @builtin(global_invocation_id) id: vec3<u32>) {
    tile[l] = a[id.x];
    workgroupBarrier();
    b[id.x] = tile[63u - l];
}
