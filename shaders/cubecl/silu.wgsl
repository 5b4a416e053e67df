@group(0)
@binding(0)
var<storage, read_write> buffer_0_global: array<f32>;

@group(0)
@binding(1)
var<storage, read_write> buffer_1_global: array<f32>;

@group(0)
@binding(2)
var<storage, read> info: array<u32>;

const WORKGROUP_SIZE_X = 256u;
const WORKGROUP_SIZE_Y = 1u;
const WORKGROUP_SIZE_Z = 1u;

@compute
@workgroup_size(256, 1, 1)
fn silu_f32(
    @builtin(global_invocation_id) global_id: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
) {
let id = (u32(global_id.z) * u32(num_workgroups.x) * u32(WORKGROUP_SIZE_X) * u32(num_workgroups.y) * u32(WORKGROUP_SIZE_Y)) + (u32(global_id.y) * u32(num_workgroups.x) * u32(WORKGROUP_SIZE_X)) + u32(global_id.x);

let l_0 = info[u32(3u)];
let l_1 = id < l_0;
if l_1 {
let l_7 = info[u32(0u)];
let l_8 = l_7 * u32(1u);
let l_9 = id < l_8;
let l_10 = min(id, l_8);
let l_11 = buffer_0_global[l_10];
let l_12 = f32(u32(0u));
let l_13 = select(l_12, l_11, l_9);
let l_2 = l_13;
let l_3 = f32(0.0f) - l_2;
let l_4 = exp(l_3);
let l_5 = f32(1.0f) + l_4;
let l_6 = l_2 / l_5;
let l_14 = info[u32(1u)];
let l_15 = l_14 * u32(1u);
let l_16 = id < l_15;
if l_16 {
buffer_1_global[id] = l_6;
}
}
}
