//! Steps of pipeline files that are no kernels of the file's, and counts of work-groups that stand in a buffer.

use crate::process::{has_device, json, root, vkfuse};
use serde_json::json;
use std::path::Path;

/// A file with these buffers and submissions, and the kernel `scale` of the `pair` folder.
fn file(folder: &Path, buffers: &str, submissions: &str) -> String {
    let shaders = root().join("shaders").display().to_string();
    let text = format!(
        "format = 1\n[kernels.scale]\npath = \"{shaders}/pair/scale.spv\"\n{buffers}\n{submissions}\n\
         [fusion]\noutputs = [\"z\"]\n"
    );
    let file = folder.join("steps.toml");
    std::fs::write(&file, text).expect("the folder can be written");
    file.display().to_string()
}

fn buffer(name: &str, ty: &str, len: u64, rest: &str) -> String {
    format!("[buffers.{name}]\ntype = \"{ty}\"\nlen = {len}\n{rest}\n")
}

const SCALE: &str = "[[submit]]\nkernel = \"scale\"\ngroups = [63]\npush = [{ u32 = 1000 }, { i32 = 3 }]\n";

#[test]
fn copies_and_fills_fuse_with_kernels() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let buffers = [
        buffer("x", "i32", 1000, "init = \"iota\""),
        buffer("t", "i32", 1000, ""),
        buffer("z", "i32", 1000, ""),
    ]
    .concat();
    let copied = format!(
        "{SCALE}args = {{ 0 = \"x\", 1 = \"t\" }}\n[[submit]]\ncopy = {{ from = \"t\", to = \"z\" }}\n"
    );
    let file = self::file(folder.path(), &buffers, &copied);
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!((status, &report["outcome"]), (0, &json!("fused")), "{report:#}");
    assert_eq!(report["outputs"]["z"]["head"], json!([0, 3, 6, 9, 12, 15, 18, 21]));
    let (status, report) = json(&["check", &file]);
    assert_eq!((status, &report["clean"]), (0, &json!(true)), "{report:#}");

    let filled = format!(
        "[[submit]]\nfill = {{ buffer = \"t\", value = -2 }}\n{SCALE}args = {{ 0 = \"t\", 1 = \"z\" }}\n\
         [[submit]]\nfill = {{ buffer = \"z\", value = 7, offset = 2, len = 3 }}\n"
    );
    let file = self::file(folder.path(), &buffers, &filled);
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!(status, 0, "{report:#}");
    assert_eq!(report["outputs"]["z"]["head"], json!([-6, -6, 7, 7, 7, -6, -6, -6]));

    // Within one buffer, at offsets that no device could bind.
    let moved = format!(
        "{SCALE}args = {{ 0 = \"x\", 1 = \"z\" }}\n[[submit]]\ncopy = {{ from = {{ buffer = \"z\", offset = 901, len = 3 }}, \
         to = {{ buffer = \"z\", offset = 1, len = 3 }} }}\n"
    );
    let file = self::file(folder.path(), &buffers, &moved);
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!(status, 0, "{report:#}");
    assert_eq!(report["outputs"]["z"]["head"], json!([0, 2703, 2706, 2709, 12, 15, 18, 21]));
}

#[test]
fn a_fill_takes_numbers_of_any_width() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (ty, value, head) in [
        ("u8", "3", json!([3, 3, 3, 3, 3, 3, 3, 3])),
        ("f16", "1.5", json!([1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5])),
        ("f64", "-0.1", json!([-0.1, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1])),
        (
            "u64",
            "0x100000002",
            json!([
                4294967298u64,
                4294967298u64,
                4294967298u64,
                4294967298u64,
                4294967298u64,
                4294967298u64,
                4294967298u64,
                4294967298u64
            ]),
        ),
    ] {
        let fill = format!("[[submit]]\nfill = {{ buffer = \"z\", value = {value} }}\n");
        let file = self::file(folder.path(), &buffer("z", ty, 64, ""), &fill);
        let (status, report) = json(&["run", &file, "--no-cache"]);
        assert_eq!((status, &report["outputs"]["z"]["head"]), (0, &head), "{ty}: {report:#}");
    }
}

#[test]
fn steps_that_are_wrong_are_located() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let buffers = [buffer("x", "u8", 6, ""), buffer("z", "u32", 8, "")].concat();
    for (step, message) in [
        ("copy = { from = \"x\", to = \"z\" }", "6 bytes from byte 0 on are not whole words"),
        ("copy = { from = { buffer = \"z\", len = 2 }, to = \"z\" }", "8 bytes cannot be copied to 32"),
        ("fill = { buffer = \"z\" }", "missing key \"value\""),
        ("fill = { buffer = \"z\", value = -1 }", "-1"),
        ("fill = { buffer = \"z\", value = 1 }\ngroups = [1]", "no other key beside fill"),
        (
            "copy = { from = { buffer = \"z\", len = 4 }, to = { buffer = \"z\", offset = 2, len = 4 } }",
            "what is copied and where it goes overlap",
        ),
    ] {
        let file = self::file(folder.path(), &buffers, &format!("[[submit]]\n{step}\n"));
        let finished = vkfuse(&["check", &file]);
        assert_eq!(finished.status, 2, "{step}: {}", finished.stdout);
        assert!(finished.stderr.contains(message), "{step}: {}", finished.stderr);
    }
}

#[test]
fn counts_in_a_buffer_are_read_before_the_list_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let buffers = [
        buffer("x", "i32", 1000, "init = \"iota\""),
        buffer("z", "i32", 1000, ""),
        buffer("counts", "u32", 4, "init = { values = [9, 2, 1, 1] }"),
    ]
    .concat();
    let submit = SCALE.replace("groups = [63]", "indirect = { buffer = \"counts\", offset = 1 }");
    let list = format!("{submit}args = {{ 0 = \"x\", 1 = \"z\" }}\n");
    let file = self::file(folder.path(), &buffers, &list);
    // Two work-groups leave the rest as it was: of a list that reads it all, the interpreter says so.
    let copied = format!("{list}[[submit]]\ncopy = {{ from = \"z\", to = \"x\" }}\n");
    assert_eq!(vkfuse(&["check", &file]).status, 0);
    let (status, report) = json(&["check", &self::file(folder.path(), &buffers, &copied)]);
    let count = report["uninitialised"]["count"].as_u64().expect("a count");
    assert!(status == 1 && (1..1000).contains(&count), "{report:#}");
    // What an earlier submission writes is not known.
    let written = format!("[[submit]]\nfill = {{ buffer = \"counts\", value = 1 }}\n{list}");
    let finished = vkfuse(&["check", &self::file(folder.path(), &buffers, &written)]);
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains("submission 0 writes the counts in counts"), "{}", finished.stderr);
    // Beside them it may.
    let beside = format!("[[submit]]\nfill = {{ buffer = \"counts\", value = 1, len = 1 }}\n{list}");
    assert_eq!(vkfuse(&["check", &self::file(folder.path(), &buffers, &beside)]).status, 0);
}

/// Dispatches of no work-groups, by whatever way they are asked for: they do nothing, and what is around them fuses.
#[test]
fn submissions_without_work_groups_do_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let buffers = [
        buffer("x", "i32", 1000, "init = \"iota\""),
        buffer("t", "i32", 1000, ""),
        buffer("z", "i32", 1000, "init = { fill = -1 }"),
        buffer("counts", "u32", 4, "init = { values = [0, 2, 1, 1] }"),
    ]
    .concat();
    let submit = |extent: &str, from: &str, to: &str| {
        let submit = SCALE.replace("groups = [63]", extent);
        format!("{submit}args = {{ 0 = \"{from}\", 1 = \"{to}\" }}\n")
    };
    let whole = |from: &str, to: &str| submit("groups = [63]", from, to);
    for extent in [
        "groups = [0]",
        "groups = [4, 0, 1]",
        "groups = [0, 0, 0]",
        "global = [0]",
        "global = [5, 0]",
        "indirect = { buffer = \"counts\" }",
    ] {
        let nothing = submit(extent, "z", "t");
        let list = format!("{nothing}{}{nothing}{}", whole("x", "t"), whole("t", "z"));
        let file = self::file(folder.path(), &buffers, &list);
        assert_eq!(vkfuse(&["check", &file]).status, 0, "{extent}");
        if !has_device() {
            continue;
        }
        let alone = self::file(folder.path(), &buffers, &nothing);
        let (status, report) = json(&["run", &alone, "--no-cache"]);
        assert_eq!((status, &report["outputs"]["z"]["equal"]), (0, &json!(true)), "{extent}: {report:#}");
        assert_eq!(report["outputs"]["z"]["head"], json!([-1, -1, -1, -1, -1, -1, -1, -1]));
        assert_eq!(report["groups"], json!([]), "{extent}");
        let file = self::file(folder.path(), &buffers, &list);
        let (status, report) = json(&["run", &file, "--no-cache"]);
        assert_eq!((status, &report["outcome"]), (0, &json!("fused")), "{extent}: {report:#}");
        assert_eq!(report["outputs"]["z"]["head"], json!([0, 9, 18, 27, 36, 45, 54, 63]));
        assert_eq!(report["groups"][0]["kernels"], json!([1, 3]), "{extent}");
    }
    // A count that is written by one that does nothing is known.
    let fill = submit("groups = [0]", "x", "t").replace("\"t\"", "\"w\"");
    let buffers = format!("{buffers}{}", buffer("w", "u32", 1000, ""));
    let indirect = submit("indirect = { buffer = \"w\" }", "x", "z");
    let file = self::file(folder.path(), &buffers, &format!("{fill}{indirect}"));
    assert_eq!(vkfuse(&["check", &file]).status, 0);
}

/// The tail of a buffer is read by a kernel whose other binding, which it writes, is all of it.
#[test]
fn bindings_that_overlap_run_by_themselves() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let buffers = [
        buffer("x", "i32", 1536, "init = \"iota\""),
        buffer("y", "i32", 512, ""),
        buffer("z", "i32", 512, ""),
    ]
    .concat();
    let submit = |from: &str, to: &str| {
        let submit = SCALE.replace("63", "32").replace("1000", "512");
        format!("{submit}args = {{ 0 = {from}, 1 = {to} }}\n")
    };
    let part = |offset: u32, len: u32| format!("{{ buffer = \"x\", offset = {offset}, len = {len} }}");
    for (from, to, first) in [
        (part(512, 512), "\"x\"".to_owned(), 512),
        (part(1024, 512), "\"x\"".to_owned(), 1024),
        (part(512, 1024), part(0, 1024), 512),
        (part(1024, 512), part(0, 1088), 1024),
        ("\"x\"".to_owned(), part(1024, 512), 0),
    ] {
        let read = if first == 0 { part(1024, 512) } else { part(0, 512) };
        let list = [submit(&from, &to), submit(&read, "\"y\""), submit("\"y\"", "\"z\"")].concat();
        let file = self::file(folder.path(), &buffers, &list);
        assert_eq!(vkfuse(&["check", &file]).status, 0, "{from} {to}");
        let (status, report) = json(&["run", &file, "--no-cache"]);
        assert_eq!((status, &report["outcome"]), (0, &json!("split")), "{report:#}");
        let reason = report["splits"][0]["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("binding 0 and binding 1 of one kernel overlap"), "{reason}");
        let head: Vec<u32> = (0..8).map(|i| 27 * (first + i)).collect();
        assert_eq!(report["outputs"]["z"]["head"], json!(head), "{from} {to}");
    }
}

#[test]
fn another_local_size() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shaders = root().join("shaders").display().to_string();
    let list = |kernel: &str, size: &str| {
        let text = format!(
            "format = 1\n[kernels.k]\npath = \"{shaders}/{kernel}.spv\"\nlocal_size = {size}\n\
             [buffers.x]\ntype = \"u32\"\nlen = 256\ninit = \"iota\"\n[buffers.z]\ntype = \"u32\"\nlen = 256\n\
             [[submit]]\nkernel = \"k\"\nglobal = [256]\npush = [{{ u32 = 256 }}, {{ u32 = 0 }}, {{ u32 = 0 }}]\nargs = {{ 0 = \"x\", 1 = \"z\" }}\n"
        );
        let file = folder.path().join("size.toml");
        std::fs::write(&file, text).expect("the folder can be written");
        vkfuse(&["check", &file.display().to_string()])
    };
    for size in ["[64]", "[1, 1]", "[256, 1, 1]"] {
        let finished = list("steps/copy", size);
        assert_eq!(finished.status, 0, "{size}: {}{}", finished.stdout, finished.stderr);
    }
    let finished = list("steps/copy", "[0]");
    assert!(finished.status == 2 && finished.stderr.contains("local_size"), "{}", finished.stderr);
    // A size that follows from a specialization constant.
    let finished = list("chain/mul", "[64]");
    assert!(finished.status == 2 && finished.stderr.contains("in spec"), "{}", finished.stderr);
}
