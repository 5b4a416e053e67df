//! Pairs of kernels that do not fuse: what the report says is what keeps them apart, of the kernel that has it.

use crate::process::{has_device, vkfuse};

/// A product of matrices that makes an element in an invocation: a kernel with a loop, which is not recomputed.
const PRODUCT: &str = "@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    var sum = 0.0;
    for (var k = 0u; k < 32u; k++) { sum += a[i / 32u * 32u + k] * a[k * 32u + i % 32u]; }
    c[i] = sum;
}";

/// A kernel of rows, each by a work-group.
const ROWS: &str = "@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> c: array<f32>;
var<workgroup> part: array<f32, 64>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) l: u32) {
    var sum = 0.0;
    for (var k = l; k < 128u; k += 64u) { sum += a[g.x * 128u + k]; }
    part[l] = sum;
    workgroupBarrier();
    for (var k = l; k < 128u; k += 64u) { c[g.x * 128u + k] = a[g.x * 128u + k] - part[63u - l]; }
}";

/// A kernel that writes gains beside the product.
const GAINS: &str = "@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> g: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    g[id.x] = a[id.x] * 0.5;
}";

/// What the plan says of a producer and a consumer that does `body` with place `i` of `x` and `y`; `gains` are written between the two.
fn said(producer: &str, declared: &str, body: &str, gains: bool) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    let declared = match declared {
        "" => "@group(0) @binding(0) var<storage, read> x: array<f32>;",
        declared => declared,
    };
    let third = match gains {
        true => "@group(0) @binding(2) var<storage, read> g: array<f32>;",
        false => "",
    };
    let (ty, y) = match body {
        body if body.contains("atomicAdd(&y") => ("atomic<u32>", "u32"),
        body if body.contains("y[i] %") => ("u32", "u32"),
        _ if declared.contains("vec4") => ("vec4<f32>", "f32"),
        _ => ("f32", "f32"),
    };
    let results = format!("@group(0) @binding(1) var<storage, read_write> y: array<{ty}>;");
    let ids = "@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>, @builtin(local_invocation_index) l: u32";
    write("product.wgsl", producer);
    write("gains.wgsl", GAINS);
    write(
        "k.wgsl",
        &format!(
            "{declared}\n{results}\n{third}\nvar<workgroup> part: array<f32, 64>;\n@compute @workgroup_size(64) fn main({ids}) {{ let i = id.x; {body} }}"
        ),
    );
    // Some go through four elements each.
    let is_quarter = ["4u *", "[255u", "k += n.x"].iter().any(|part| body.contains(part));
    let submit = |kernel: &str, args: &str| {
        let size = match kernel {
            "product" if producer == ROWS => "groups = [8]",
            "k" if is_quarter => "global = [256]",
            _ => "global = [1024]",
        };
        format!("[[submit]]\nkernel = \"{kernel}\"\n{size}\nargs = {{ {args} }}\n")
    };
    let mut list = format!(
        "format = 1\nkernels.product.path = \"product.wgsl\"\nkernels.k.path = \"k.wgsl\"\n{}buffers.a = {{ type = \"f32\", len = 1024, init = \"random\" }}\n\
         buffers.c = {{ type = \"f32\", len = 1024 }}\nbuffers.y = {{ type = \"{y}\", len = 1024, init = \"zeros\" }}\n",
        if gains {
            "kernels.gains.path = \"gains.wgsl\"\nbuffers.g = { type = \"f32\", len = 1024 }\n"
        } else {
            ""
        },
    );
    list += &submit("product", "0 = \"a\", 1 = \"c\"");
    if gains {
        list += &submit("gains", "0 = \"a\", 1 = \"g\"");
    }
    list += &submit("k", if gains { "0 = \"c\", 1 = \"y\", 2 = \"g\"" } else { "0 = \"c\", 1 = \"y\"" });
    write("list.toml", &list);
    let list = folder.path().join("list.toml").display().to_string();
    let done = vkfuse(&["plan", &list, "--no-cache"]);
    done.stdout + &done.stderr
}

/// The report names the property of the consumer that keeps it from being an epilogue; without it, it is one.
#[test]
fn what_a_consumer_has_is_said_of_it() {
    if !has_device() {
        return;
    }
    for producer in [PRODUCT, ROWS] {
        let fused = said(producer, "", "y[i] = x[1023u - i];", false);
        assert!(!fused.contains("split after"), "{fused}");
    }
    for (producer, declared, body, gains, expected) in PAIRS {
        let said = said(producer, declared, body, *gains);
        assert!(said.contains(expected), "{body}\nexpected: {expected}\n{said}");
    }
}

/// The producer, the declaration of `x` unless it is an array of floats, the body of the consumer, whether it reads gains, and the text that is expected.
const PAIRS: &[(&str, &str, &str, bool, &str)] = &[
    (
        PRODUCT,
        "",
        "y[i] = x[1023u - i] * f32(n.x);",
        false,
        "submission 1 cannot be re-indexed: it has the number of work-groups (`gl_NumWorkGroups`, `num_workgroups`), which may be a push constant",
    ),
    (
        PRODUCT,
        "",
        "atomicAdd(&y[u32(abs(x[1023u - i])) & 15u], 1u);",
        false,
        "submission 1 cannot be re-indexed: it has atomic operations (binding 0.1)",
    ),
    (
        PRODUCT,
        "",
        "part[l] = x[1023u - i]; workgroupBarrier(); y[i] = part[l] - part[63u - l];",
        false,
        "submission 1 cannot be re-indexed: it has a barrier",
    ),
    (
        PRODUCT,
        "",
        "y[i] = x[1023u - i] * g[i];",
        true,
        "submission 2 cannot be done where submission 1 stores what it reads: it also reads binding 0.0, which submission 0 writes",
    ),
    (
        PRODUCT,
        "",
        "if (i < 1023u) { y[i] = x[i + 1u] - x[i]; }",
        false,
        "an invocation of submission 1 (k) reads several elements that submission 0 stores, at byte (global.x + 1) * 4 and byte global.x * 4 of binding 0.0; submission 0 cannot be recomputed where it is read: it has a loop",
    ),
    (
        PRODUCT,
        "",
        "var sum = 0.0; for (var k = 0u; k < 32u; k++) { sum += x[k * 32u + i % 32u]; } y[i] = sum;",
        false,
        "an invocation of submission 1 (k) reads several elements that submission 0 stores, at byte",
    ),
    (
        PRODUCT,
        "",
        "y[i] = x[1023u - 4u * i];",
        false,
        "elements with gaps between them: submission 1 (k) reads binding 0.0 at byte",
    ),
    (
        PRODUCT,
        "@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;",
        "y[i] = x[255u - i];",
        false,
        "submission 1 has elements of 16 bytes, and the other one stores elements of 4",
    ),
    (
        PRODUCT,
        "",
        "for (var k = i; k < 1024u; k += n.x * 64u) { y[k] = x[1023u - k]; }",
        false,
        "submission 1 cannot be re-indexed: it has the number of work-groups",
    ),
    (
        ROWS,
        "",
        "y[i] = u32(x[y[i] % 1024u]);",
        false,
        "(it depends on a value read from binding 1, at a place that varies)",
    ),
    (
        ROWS,
        "",
        "if (i < 1023u) { y[i] = x[i + 1u] - x[i]; }",
        false,
        "an invocation of submission 1 (k) reads several elements that submission 0 stores, at byte (global.x + 1) * 4 and byte global.x * 4 of binding 0.0; submission 0 cannot be recomputed where it is read: it has a barrier or shared memory",
    ),
];
