//! `vkfuse check` on images, buffers of texels, blocks in shared memory, and with robust access. Needs no device.

use crate::process::{has_device, json, root, vkfuse};
use serde_json::{Value, json};
use std::path::Path;

/// A file in a folder of its own, with modules of the repository by the names in braces.
fn file(folder: &Path, text: &str) -> String {
    let place = |path: &str| root().join(path).display().to_string();
    let text = text
        .replace("{shaders}", &place("shaders"))
        .replace("{interp}", &place("jit/interp/tests/interp/shaders"));
    let file = folder.join("list.toml");
    std::fs::write(&file, text).expect("the folder can be written");
    file.display().to_string()
}

/// Checks a list, and demands this many findings: out of bounds, races, uninitialised, notes.
fn checked(text: &str, options: &[&str], counts: [u64; 4]) -> Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = file(folder.path(), text);
    let (status, report) = json(&[&["check", &file][..], options].concat());
    let found =
        ["out_of_bounds", "races", "uninitialised", "notes"].map(|kind| report[kind]["count"].as_u64());
    assert_eq!(found, counts.map(Some), "{report:#}");
    let clean = counts[..3] == [0, 0, 0];
    assert_eq!((status, &report["clean"]), (i32::from(!clean), &json!(clean)), "{report:#}");
    report
}

/// A list that moves texels: read `a, b` and written `c, d` away from their own place.
fn moved(read: [i32; 2], write: [i32; 2], init: &str) -> String {
    let [[a, b], [c, d]] = [read, write];
    format!(
        "format = 1\n[kernels.k]\npath = \"{{interp}}/texels_moved.spv\"\n\
         [images.from]\nformat = \"r32ui\"\nsize = [16, 8]\n{init}\n[images.to]\nformat = \"r32ui\"\nsize = [16, 8]\n\
         [[submit]]\nkernel = \"k\"\nglobal = [16, 8]\nargs = {{ 0 = \"from\", 1 = \"to\" }}\n\
         push = [{{ i32 = {a} }}, {{ i32 = {b} }}, {{ i32 = {c} }}, {{ i32 = {d} }}]\n"
    )
}

#[test]
fn texels_outside_have_coordinates() {
    checked(&moved([0, 0], [0, 0], "init = \"iota\""), &[], [0; 4]);
    for (by, count, first) in [
        ([-1, 0], 8, [-1, 0, 0]),
        ([2, 0], 16, [16, 0, 0]),
        ([0, -1], 16, [0, -1, 0]),
        ([3, 3], 63, [16, 3, 0]),
    ] {
        let report = checked(&moved(by, [0, 0], "init = \"iota\""), &[], [count, 0, 0, 0]);
        let found = &report["out_of_bounds"]["list"][0];
        assert_eq!(
            (&found["texel"], &found["index"], &found["buffer"]),
            (&json!(first), &json!(null), &json!("from"))
        );
        // A write outside has no effect in Vulkan.
        let report = checked(&moved([0, 0], by, "init = \"iota\""), &[], [0, 0, 0, count]);
        assert_eq!(
            (&report["notes"]["list"][0]["texel"], &report["notes"]["list"][0]["buffer"]),
            (&json!(first), &json!("to"))
        );
    }
    // Robust buffer access says nothing of images.
    checked(&moved([1, 0], [0, 0], "init = \"iota\""), &["--robust"], [8, 0, 0, 0]);
    let report = checked(&moved([0, 0], [0, 0], ""), &[], [0, 0, 128, 0]);
    let found = &report["uninitialised"]["list"][3];
    assert_eq!(
        (&found["buffer"], &found["texel"], &found["index"]),
        (&json!("from"), &json!([3, 0, 0]), &json!(3))
    );
}

#[test]
fn races_on_texels_are_found() {
    let text = |kernel: &str, at: [i32; 3]| {
        let [x, y, z] = at;
        format!(
            "format = 1\n[kernels.k]\npath = \"{{interp}}/{kernel}.spv\"\n[images.i]\nformat = \"r32ui\"\nsize = [4, 3, 2]\n\
             init = \"zeros\"\n[[submit]]\nkernel = \"k\"\nglobal = [8]\nargs = {{ 0 = \"i\" }}\n\
             push = [{{ i32 = {x} }}, {{ i32 = {y} }}, {{ i32 = {z} }}, {{ i32 = 0 }}]\n"
        )
    };
    checked(&text("texels_count", [1, 2, 1]), &[], [0; 4]);
    let report = checked(&text("texels_count", [4, 0, 0]), &[], [8, 0, 0, 0]);
    assert_eq!(report["out_of_bounds"]["list"][0]["access"]["kind"], json!("atomic"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (status, report) = json(&["check", &file(folder.path(), &text("texels_count_plain", [1, 2, 1]))]);
    let race = &report["races"]["list"][0];
    assert_eq!((status, &race["texel"], &race["buffer"]), (1, &json!([1, 2, 1]), &json!("i")), "{report:#}");

    for (between, races) in [("plain", true), ("buffer", true), ("image", false)] {
        let text = format!(
            "format = 1\n[kernels.k]\npath = \"{{interp}}/texels_exchange_{between}.spv\"\n[images.i]\nformat = \"rgba8\"\n\
             size = [16, 1]\n[buffers.y]\ntype = \"f32\"\nlen = 16\n[[submit]]\nkernel = \"k\"\ngroups = [2]\n\
             args = {{ 0 = \"i\", 1 = \"y\" }}\n"
        );
        let (status, report) = json(&["check", &file(folder.path(), &text)]);
        assert_eq!((status, report["races"]["count"] != json!(0)), (i32::from(races), races), "{report:#}");
    }
}

#[test]
fn samples_and_texel_buffers_are_run() {
    let text = |offset: i32| {
        format!(
            "format = 1\n[kernels.k]\npath = \"{{interp}}/texels_buffer.spv\"\n[buffers.a]\ntype = \"u8\"\nlen = 32\n\
             init = \"iota\"\n[buffers.b]\ntype = \"f32\"\nlen = 8\n[[submit]]\nkernel = \"k\"\ngroups = [1]\n\
             push = [{{ i32 = {offset} }}, {{ i32 = 0 }}]\n\
             args = {{ 0 = {{ buffer = \"a\", texels = \"rgba8\" }}, 1 = {{ buffer = \"b\", texels = \"r32f\" }} }}\n"
        )
    };
    checked(&text(0), &[], [0; 4]);
    for (offset, outside) in [(1, 1), (-3, 3), (100, 8)] {
        let report = checked(&text(offset), &[], [outside, 0, 0, 0]);
        let x = if offset == 1 { 8 } else { offset };
        assert_eq!(report["out_of_bounds"]["list"][0]["texel"], json!([x, 0, 0]));
        checked(&text(offset), &["--robust"], [0, 0, 0, outside]);
    }
    for name in ["images", "chain"] {
        let file = root().join(format!("examples/pipelines/{name}.toml")).display().to_string();
        let (status, report) = json(&["check", &file]);
        assert_eq!((status, &report["clean"]), (0, &json!(true)), "{report:#}");
    }
}

#[test]
fn blocks_in_shared_memory_are_run() {
    let text = |kernel: &str| {
        format!(
            "format = 1\n[kernels.k]\npath = \"{{interp}}/{kernel}.spv\"\n[buffers.a]\ntype = \"u32\"\nlen = 32\ninit = \"iota\"\n\
             [buffers.b]\ntype = \"u32\"\nlen = 32\n[[submit]]\nkernel = \"k\"\ngroups = [2]\nargs = {{ 0 = \"a\", 1 = \"b\" }}\n"
        )
    };
    for kernel in ["blocks_alias", "blocks_members", "blocks_floats", "blocks_added"] {
        checked(&text(kernel), &[], [0; 4]);
    }
    checked(&text("blocks_parts"), &[], [0, 0, 16, 0]);
    checked(&text("blocks_outside"), &[], [32, 0, 0, 0]);
}

/// A kernel of four items that reads `x[i + offset]`, where `x` is behind a word.
fn bounds(offset: i32, robust: &str) -> String {
    format!(
        "format = 1\n[kernels.k]\npath = \"{{interp}}/bounds_read.spv\"\n[buffers.x]\ntype = \"u32\"\nlen = 64\ninit = \"iota\"\n\
         [buffers.z]\ntype = \"u32\"\nlen = 4\n[[submit]]\nkernel = \"k\"\ngroups = [1]\npush = [{{ i32 = {offset} }}]\n\
         args = {{ 0 = {{ buffer = \"x\", offset = 0, len = 5 }}, 1 = \"z\" }}\n{robust}\n"
    )
}

#[test]
fn what_lies_before_a_range_has_a_negative_index() {
    for (offset, count, first) in
        [(-2, 2, -1), (-3, 3, -2), (-100, 4, -99), (4, 4, 5), (-1_000_000, 4, -999_999)]
    {
        let report = checked(&bounds(offset, ""), &[], [count, 0, 0, 0]);
        let found = &report["out_of_bounds"]["list"][0];
        assert_eq!((&found["index"], &found["buffer"]), (&json!(first), &json!("x")), "{report:#}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = vkfuse(&["check", &file(folder.path(), &bounds(-2, ""))]).stdout;
    assert!(said.contains("-1") && !said.contains("4611686018427387"), "{said}");
}

#[test]
fn robust_access_gives_notes() {
    for (offset, outside) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (1000, 4)] {
        checked(&bounds(offset, ""), &[], [outside, 0, 0, 0]);
        for (options, said) in [(&["--robust"][..], ""), (&[], "[fusion]\nrobust = true")] {
            let report = checked(&bounds(offset, said), options, [0, 0, 0, outside]);
            if outside > 0 {
                let note = &report["notes"]["list"][0];
                let index = if offset >= 4 { offset + 1 } else { 5 };
                assert_eq!((&note["index"], &note["access"]["kind"]), (&json!(index), &json!("read")));
            }
        }
    }
    // Before the array, and inside of the range, is something else.
    checked(&bounds(-1, ""), &["--robust"], [1, 0, 0, 0]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = vkfuse(&["check", "--robust", &file(folder.path(), &bounds(3, ""))]);
    assert!(
        said.status == 0 && said.stdout.contains("nothing found") && said.stdout.contains("note"),
        "{}",
        said.stdout
    );
    let said = vkfuse(&["check", &file(folder.path(), &bounds(3, "[fusion]\nrobust = 1"))]);
    assert!(said.status == 2 && said.stderr.contains("robust"), "{}", said.stderr);
}

/// Robust access on the device: the numbers are those of the specification, fused and unfused.
#[test]
fn robust_lists_run() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (offset, expected) in
        [(0, [1, 2, 3, 4]), (1, [2, 3, 4, 0]), (3, [4, 0, 0, 0]), (4, [0; 4]), (50, [0; 4])]
    {
        for (options, said) in [(&["--robust"][..], ""), (&[], "[fusion]\nrobust = true")] {
            let file = file(folder.path(), &bounds(offset, said));
            let (status, report) = json(&[&["run", &file, "--no-cache"][..], options].concat());
            assert_eq!(
                (status, &report["outputs"]["z"]["head"]),
                (0, &json!(expected)),
                "{offset}: {report:#}"
            );
        }
    }
}

#[test]
fn text_is_no_module() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cases = [
        ("#version 450\nlayout(local_size_x = 1) in;\nvoid main() {}\n", "glslangValidator"),
        ("@compute @workgroup_size(1)\nfn main() {}\n", ".wgsl"),
        ("; SPIR-V\n; Version: 1.0\n               OpCapability Shader\n", "spirv-as"),
        ("RWStructuredBuffer<uint> x;\n[numthreads(1, 1, 1)]\nvoid main() {}\n", "dxc"),
        ("\u{feff}// a note\n#version 450\nvoid main() {}\n", "glslangValidator"),
        ("shopping: milk, eggs\n", "binary"),
    ];
    for (text, advice) in cases {
        let module = folder.path().join("kernel.spv").display().to_string();
        std::fs::write(&module, text).expect("the folder can be written");
        let list = format!(
            "format = 1\n[kernels.k]\npath = \"{module}\"\n[buffers.x]\ntype = \"u32\"\nlen = 1\n[[submit]]\nkernel = \"k\"\ngroups = [1]\n"
        );
        let list = file(folder.path(), &list);
        for command in [&["inspect", &module][..], &["run", &list], &["check", &list]] {
            let finished = vkfuse(command);
            assert_eq!(finished.status, 2, "{}", finished.stderr);
            let said = &finished.stderr;
            assert!(said.contains("text") && said.contains(advice) && !said.contains("truncated"), "{said}");
        }
    }
}

#[test]
fn a_buffer_that_nobody_uses_has_a_reason() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for promote in ["private", "local", "auto", "none"] {
        for mode in ["both", "fused", "unfused"] {
            let text =
                format!("{}[buffers.t]\ntype = \"f32\"\nlen = 4\npromote = \"{promote}\"\n", bounds(0, ""));
            let (status, report) = json(&["run", &file(folder.path(), &text), "--no-cache", "--mode", mode]);
            let expected = if promote == "none" { json!(null) } else { json!("no submission uses it") };
            let unused = &report["buffers"]["t"];
            assert_eq!(
                (status, &unused["got"], &unused["reason"]),
                (0, &json!("none"), &expected),
                "{report:#}"
            );
        }
    }
}

#[test]
fn copies_and_fills_need_no_kernels() {
    let text = |steps: &str| {
        format!(
            "format = 1\n[buffers.x]\ntype = \"u32\"\nlen = 64\ninit = \"iota\"\n[buffers.y]\ntype = \"u32\"\nlen = 64\n{steps}"
        )
    };
    let (copy, fill) = (
        "[[submit]]\ncopy = { from = \"x\", to = \"y\" }\n",
        "[[submit]]\nfill = { buffer = \"y\", value = 5, offset = 2, len = 3 }\n",
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lists = [
        (copy.to_owned(), json!([0, 1, 2, 3, 4, 5, 6, 7])),
        (format!("{copy}{fill}"), json!([0, 1, 5, 5, 5, 5, 6, 7])),
        (format!("{fill}{copy}"), json!([0, 1, 2, 3, 4, 5, 6, 7])),
        (fill.to_owned(), json!([0, 0, 5, 5, 5, 0, 0, 0])),
        (
            format!(
                "{copy}[[submit]]\ncopy = {{ from = {{ buffer = \"y\", offset = 32, len = 8 }}, to = {{ buffer = \"y\", offset = 0, len = 8 }} }}\n"
            ),
            json!([32, 33, 34, 35, 36, 37, 38, 39]),
        ),
    ];
    for (steps, head) in lists {
        let list = file(folder.path(), &text(&steps));
        let (status, report) = json(&["check", &list]);
        assert_eq!((status, &report["clean"]), (0, &json!(true)), "{report:#}");
        if has_device() {
            let (status, report) = json(&["run", &list, "--no-cache"]);
            assert_eq!((status, &report["outputs"]["y"]["head"]), (0, &head), "{report:#}");
            assert!(report["groups"][0]["kernels"].is_array(), "{report:#}");
        }
    }
    // One that needs a kernel says so.
    let list = file(folder.path(), &text(&format!("{copy}[[submit]]\nkernel = \"k\"\ngroups = [1]\n")));
    let finished = vkfuse(&["check", &list]);
    assert!(finished.status == 2 && finished.stderr.contains("kernels"), "{}", finished.stderr);
}
