// Each invocation overwrites its element while its neighbour may still have to read it.
@group(0) @binding(0) var<storage, read_write> x: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let next = (id.x + 1u) % arrayLength(&x);
    x[id.x] = x[id.x] + x[next];
}
