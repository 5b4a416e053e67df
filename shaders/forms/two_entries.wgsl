// Two entry points in one module: z = 2 * x and z = x + 1 on f32.
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> z: array<f32>;

@compute @workgroup_size(64)
fn twice(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&z)) {
        return;
    }
    z[id.x] = 2.0 * x[id.x];
}

@compute @workgroup_size(64)
fn plus_one(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&z)) {
        return;
    }
    z[id.x] = x[id.x] + 1.0;
}
