@group(0)
@binding(0)
var<storage, read_write> buffer_0_global: array<f32>;

@group(0)
@binding(1)
var<storage, read_write> buffer_1_global: array<f32>;

@group(0)
@binding(2)
var<storage, read> info: array<u32>;

@group(0)
@binding(3)
var<storage, read> scalars_f32: array<f32, 2>;

const WORKGROUP_SIZE_X = 256u;
const WORKGROUP_SIZE_Y = 1u;
const WORKGROUP_SIZE_Z = 1u;

@compute
@workgroup_size(256, 1, 1)
fn affine_f32(
    @builtin(global_invocation_id) global_id: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
) {
let id = (u32(global_id.z) * u32(num_workgroups.x) * u32(WORKGROUP_SIZE_X) * u32(num_workgroups.y) * u32(WORKGROUP_SIZE_Y)) + (u32(global_id.y) * u32(num_workgroups.x) * u32(WORKGROUP_SIZE_X)) + u32(global_id.x);

let l_0 = info[u32(3u)];
let l_1 = id < l_0;
if l_1 {
let l_5 = info[u32(0u)];
let l_6 = l_5 * u32(1u);
let l_7 = id < l_6;
let l_8 = min(id, l_6);
let l_9 = buffer_0_global[l_8];
let l_10 = f32(u32(0u));
let l_11 = select(l_10, l_9, l_7);
let l_2 = l_11;
let l_3 = l_2 * scalars_f32[0];
let l_4 = l_3 + scalars_f32[1];
let l_12 = info[u32(1u)];
let l_13 = l_12 * u32(1u);
let l_14 = id < l_13;
if l_14 {
buffer_1_global[id] = l_4;
}
}
}
