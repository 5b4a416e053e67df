//! `vkfuse inspect`: what it says about modules. Needs no device.

use crate::process::{has_device, json, root, vkfuse};
use serde_json::{Value, json};

fn shader(name: &str) -> String {
    root().join("shaders").join(name).display().to_string()
}

fn entry(name: &str) -> Value {
    let (status, report) = json(&["inspect", &shader(name)]);
    assert_eq!(status, 0);
    assert_eq!(report["format"], 1);
    report["entries"][0].clone()
}

#[test]
fn an_element_wise_kernel() {
    let entry = entry("chain/mul.spv");
    assert_eq!(entry["entry"], "main");
    assert_eq!(entry["local_size"], json!([256, 1, 1]));
    assert_eq!(entry["builtins"], json!(["GlobalInvocationId"]));
    assert_eq!(entry["item_only"], true);
    assert_eq!(entry["not_fusible"], Value::Null);
    assert_eq!(entry["spec_constants"][0], json!({ "id": 0, "name": null, "type": "u32", "default": 256 }));
    assert_eq!(entry["push"]["size"], 4);
    let bindings = entry["bindings"].as_array().expect("a list");
    let used: Vec<_> = bindings.iter().map(|b| (&b["slot"], &b["reads"], &b["writes"])).collect();
    let (yes, no) = (json!(true), json!(false));
    let slots = [json!("0.0"), json!("0.1"), json!("0.2")];
    assert_eq!(used, [(&slots[0], &yes, &no), (&slots[1], &yes, &no), (&slots[2], &no, &yes)]);
    let accesses = entry["accesses"].as_array().expect("a list");
    assert_eq!(accesses.len(), 3);
    for access in accesses {
        assert_eq!(access["offset"], "global.x * 4");
        assert_eq!(access["size"], 4);
        assert_eq!(access["class"], "by invocation");
        assert_eq!(access["guards"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn classes_of_accesses() {
    let class = |name: &str, binding: &str| {
        let entry = entry(name);
        let accesses = entry["accesses"].as_array().expect("a list").iter();
        let mut classes: Vec<_> =
            accesses.filter(|access| access["binding"] == binding).map(|a| a["class"].clone()).collect();
        classes.dedup();
        classes
    };
    assert_eq!(class("softmax/row_max.spv", "0.1"), ["by work-group"]);
    assert_eq!(class("access/gather.spv", "0.0"), ["unknown"]);
    assert_eq!(class("forms/uniform_buffer.spv", "0.0"), ["uniform"]);
    assert_eq!(class("access/reverse_group.spv", "0.0"), ["by invocation"]);
}

#[test]
fn a_kernel_that_only_runs_unfused_says_why() {
    let entry = entry("../jit/tests/kernels/texel.spv");
    assert!(entry["not_fusible"].as_str().is_some_and(|reason| reason.contains("texel buffer")), "{entry:#}");
    assert_eq!(entry["accesses"], json!([]));
}

/// With debug information an access has the line of the source, and whatever is not followed is named.
#[test]
fn accesses_name_lines_and_what_is_not_followed() {
    let kernel = entry("../jit/tests/kernels/chain.g.spv");
    let lines: Vec<_> =
        kernel["accesses"].as_array().expect("a list").iter().map(|a| a["lines"].clone()).collect();
    assert_eq!(lines, [json!([11]), json!([11]), json!([11])], "{kernel:#}");
    assert!(kernel["accesses"].as_array().expect("a list").iter().all(|a| a["not_followed"].is_null()));
    let gather = entry("access/gather.spv");
    let unknown = gather["accesses"].as_array().expect("a list").iter().find(|a| a["class"] == "unknown");
    let why = unknown.and_then(|access| access["not_followed"].as_str()).expect("a cause");
    assert!(why.contains("read from binding 1"), "{why}");
    assert_eq!(unknown.expect("an access")["lines"], json!([]));
    let text = vkfuse(&["inspect", &shader("access/gather.spv")]).stdout;
    assert!(text.contains(why), "{text}");
}

#[test]
fn entry_points_of_a_module() {
    let file = shader("forms/two_entries.spv");
    let (_, report) = json(&["inspect", &file]);
    let names: Vec<_> =
        report["entries"].as_array().expect("a list").iter().map(|e| e["entry"].clone()).collect();
    assert_eq!(names, ["twice", "plus_one"]);
    let (_, report) = json(&["inspect", &file, "--entry", "plus_one"]);
    assert_eq!(report["entries"].as_array().map(Vec::len), Some(1));
    let finished = vkfuse(&["inspect", &file, "--entry", "main"]);
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains("plus_one"), "{}", finished.stderr);
}

#[test]
#[cfg(feature = "wgsl")]
fn wgsl_text() {
    let entry = entry("chain/mul.wgsl");
    assert_eq!(entry["local_size"], json!([256, 1, 1]));
    let finished = vkfuse(&["inspect", &shader("README.md")]);
    assert_eq!(finished.status, 2);
    assert_eq!(finished.stdout, "");
}

#[test]
fn tables_for_people() {
    let finished = vkfuse(&["inspect", &shader("chain/mul.spv")]);
    assert_eq!(finished.status, 0);
    for word in ["256 x 1 x 1", "GlobalInvocationId", "global.x * 4", "storage buffer"] {
        assert!(finished.stdout.contains(word), "no {word} in\n{}", finished.stdout);
    }
}

/// Whatever is in the file, the command says what is wrong with it or shows it; it does not crash.
#[test]
fn damaged_modules_end_with_a_message() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let good = std::fs::read(shader("softmax/row_max.spv")).expect("the kernel is there");
    let file = folder.path().join("damaged.spv");
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..40 {
        let mut bytes = good.clone();
        match random(4) {
            0 => bytes.truncate(random(good.len())),
            1 => bytes.iter_mut().for_each(|byte| *byte = random(256) as u8),
            _ => (0..=random(3)).for_each(|_| bytes[random(good.len())] ^= 1 << random(8)),
        }
        std::fs::write(&file, &bytes).expect("the folder can be written");
        let finished = vkfuse(&["inspect", &file.display().to_string()]);
        assert!([0, 2].contains(&finished.status), "{} {}", finished.status, finished.stderr);
        assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
    }
}

/// Overrides with and without a default.
#[test]
fn overrides_without_a_default_are_required() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("scale.wgsl").display().to_string();
    let text = "override n: u32; override m: u32 = 0u;
        @group(0) @binding(0) var<storage, read_write> z: array<u32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) { z[g.x] = n + m; }";
    std::fs::write(&file, text).expect("the folder can be written");
    let (status, report) = json(&["inspect", &file]);
    assert_eq!(status, 0, "{report:#}");
    let constants = &report["entries"][0]["spec_constants"];
    let expected = [
        json!({ "id": 0, "name": "n", "type": "u32", "required": true, "default": null }),
        json!({ "id": 1, "name": "m", "type": "u32", "default": 0 }),
    ];
    assert_eq!(constants, &json!(expected));
    let finished = vkfuse(&["inspect", &file]);
    let line = finished.stdout.lines().find(|line| line.contains("required")).expect("a line");
    assert!(line.contains(" n ") && line.contains("a value is required"), "{line}");
}

/// What an index is made of is said in words, as far as it has no name in the source.
#[test]
fn rounds_of_loops_and_unknown_values_are_words() {
    for (module, wanted) in [("access/stencil.spv", "(round of loop "), ("ids/record.spv", "(unknown value ")]
    {
        let finished = vkfuse(&["inspect", &root().join("shaders").join(module).display().to_string()]);
        assert_eq!(finished.status, 0, "{}", finished.stderr);
        assert!(finished.stdout.contains(wanted), "{}", finished.stdout);
        // A remainder has spaces around its sign.
        let is_remainder = |at: usize| finished.stdout[..at].ends_with(' ');
        let mut signs = finished.stdout.match_indices('%');
        assert!(signs.all(|(at, _)| is_remainder(at)), "{}", finished.stdout);
    }
}

/// An array whose length is a constant that has to be given: a list gives it, and what is shown is with 1.
#[test]
fn arrays_without_elements_by_default() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut bytes = std::fs::read(root().join("shaders/forms/sized.spv")).expect("it is checked in");
    // The default in `OpSpecConstant`.
    let word = |at: usize, bytes: &[u8]| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
    let mut at = 20;
    while word(at, &bytes) & 0xffff != 50 {
        at += 4 * (word(at, &bytes) >> 16) as usize;
    }
    bytes[at + 12..at + 16].copy_from_slice(&0u32.to_le_bytes());
    let file = folder.path().join("sized.spv").display().to_string();
    std::fs::write(&file, bytes).expect("the folder can be written");
    let (status, report) = json(&["inspect", &file]);
    assert_eq!(status, 0, "{report:#}");
    let entry = &report["entries"][0];
    assert_eq!((&entry["assumed"], &entry["workgroup_bytes"]), (&json!([3]), &json!(4)));
    assert_eq!(entry["spec_constants"][0]["default"], json!(0));
    let finished = vkfuse(&["inspect", &file]);
    assert!(finished.stdout.contains("looked at with 1 for 3"), "{}", finished.stdout);
    // A module that is valid with its defaults has no such list.
    let (_, report) = json(&["inspect", &root().join("shaders/forms/sized.spv").display().to_string()]);
    assert!(report["entries"][0].get("assumed").is_none());
    let list = |spec: &str| {
        let text = format!(
            "format = 1\n[kernels.k]\npath = \"sized.spv\"\n[buffers.x]\ntype = \"u32\"\nlen = 64\ninit = \"iota\"\n\
             [buffers.z]\ntype = \"u32\"\nlen = 64\n[[submit]]\nkernel = \"k\"\ngroups = [4]\n{spec}\n\
             args = {{ 0 = \"x\", 1 = \"z\" }}\n"
        );
        let file = folder.path().join("list.toml");
        std::fs::write(&file, text).expect("the folder can be written");
        file.display().to_string()
    };
    assert_eq!(vkfuse(&["check", &list("")]).status, 2);
    assert_eq!(vkfuse(&["check", &list("spec = { 3 = { u32 = 16 } }")]).status, 0);
    if has_device() {
        let (status, report) = json(&["run", &list("spec = { 3 = { u32 = 16 } }"), "--no-cache"]);
        assert_eq!(status, 0, "{report:#}");
        assert_eq!(report["outputs"]["z"]["head"], json!([15, 15, 15, 15, 15, 15, 15, 15]));
    }
}
