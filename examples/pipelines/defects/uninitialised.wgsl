struct Push { n: u32 }
var<immediate> push: Push;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < push.n) {
        y[id.x] = x[id.x] * 2u;
    }
}
