//! What can be run and may be mistaken is noted, with its place, on the standard error; a list that is as it should be has no notes.

use crate::process::{changed, example, has_device, json, root, vkfuse};

/// `@` stands for the folder of the kernels.
const LIST: &str = r#"format = 1
[kernels.mul]
path = "@/chain/mul.spv"
[buffers.x]
type = "f32"
len = 64
init = "iota"
[buffers.y]
type = "f32"
len = 64
[buffers.z]
type = "f32"
len = 64
[[submit]]
kernel = "mul"
groups = [1]
push = [{ u32 = 64 }]
args = { 0 = "x", 1 = "x", 2 = "y" }
[[submit]]
kernel = "mul"
groups = [1]
push = [{ u32 = 64 }]
args = { 0 = "y", 1 = "y", 2 = "z" }
[fusion]
outputs = ["z"]
"#;

/// What `vkfuse check` says of the list with one text replaced by another, on the standard error.
fn noted(from: &str, to: &str) -> String {
    let text = LIST.replacen(from, to, 1);
    assert!(from.is_empty() || text != LIST, "{from} is not in the file");
    said_of(&text)
}

/// What `vkfuse check` says of a list, on the standard error.
fn said_of(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("list.toml").display().to_string();
    let kernels = root().join("shaders").display().to_string();
    std::fs::write(&file, text.replace('@', &kernels)).expect("the folder can be written");
    vkfuse(&["check", &file]).stderr
}

#[test]
fn a_list_that_is_as_it_should_be_has_no_notes() {
    assert_eq!(noted("", ""), "");
    assert_eq!(noted("outputs = [\"z\"]", "outputs = [\"y\", \"z\"]"), "");
    // What is read and written by one submission may count from zeros.
    assert_eq!(noted("0 = \"y\", 1 = \"y\", 2 = \"z\"", "0 = \"y\", 1 = \"z\", 2 = \"z\""), "");
}

#[test]
fn what_may_be_mistaken_is_noted_with_its_place() {
    for (from, to, wanted) in [
        ("outputs = [\"z\"]", "outputs = [\"x\"]", "25:1: fusion.outputs: no submission writes x"),
        ("outputs = [\"z\"]", "outputs = []", "25:1: fusion.outputs: the list is empty: nothing is compared"),
        (
            "0 = \"x\", 1 = \"x\", 2 = \"y\"",
            "0 = \"x\", 1 = \"z\", 2 = \"y\"",
            "18:19: submit[0].args.1: submission 0 reads z before submission 1 writes it, and z has no `init`",
        ),
        (
            "[[submit]]",
            "[buffers.w]\ntype = \"f32\"\nlen = 4\n[[submit]]",
            "14:10: buffers.w: no submission uses the buffer w",
        ),
        (
            "[buffers.x]",
            "[kernels.sub]\npath = \"@/chain/sub.spv\"\n[buffers.x]",
            "no submission uses the kernel sub",
        ),
        (
            "groups = [1]",
            "groups = [1, 3]",
            "14:1: submit[0]: kernel mul is dispatched with work-groups that differ in y alone and write the same elements",
        ),
        (
            "len = 64\ninit = \"iota\"",
            "len = 64",
            "4:10: buffers.x: x is read, no submission writes it, and it has no `init`: it holds zeros",
        ),
    ] {
        let said = noted(from, to);
        assert!(said.contains(wanted) && said.lines().count() == 1, "{from} -> {to}\n{said}");
    }
}

/// Less is written than is read: too few work-groups, a short length, the wrong first work-group.
#[test]
fn what_is_read_and_not_written_before_is_noted() {
    let second = "0 = \"y\", 1 = \"y\", 2 = \"z\"";
    let wide = LIST.replace("len = 64", "len = 1024").replace("u32 = 64", "u32 = 1024");
    let wide = wide.replace("groups = [1]", "groups = [4]");
    let first = "groups = [4]\npush = [{ u32 = 1024 }]\nargs = { 0 = \"x\", 1 = \"x\", 2 = \"y\" }";
    let nothing = "and y has no `init`: it reads zeros, docs/reasons.md#old-contents";
    let with = |groups: &str| first.replace("groups = [4]", groups);
    let init =
        |list: &str| list.replacen("len = 1024\n[buffers.z]", "len = 1024\ninit = \"zeros\"\n[buffers.z]", 1);
    let short = first.replace("u32 = 1024", "u32 = 1000");
    let twice = format!(
        "{}\n[[submit]]\nkernel = \"mul\"\n{}",
        with("groups = [1]"),
        with("groups = [1]\nbase = [3]")
    );
    let own = format!(
        "{}\n[[submit]]\nkernel = \"mul\"\n{}",
        short,
        first.replace("0 = \"x\", 1 = \"x\"", "0 = \"y\", 1 = \"y\"")
    );
    for (text, wanted) in [
        (wide.clone(), None),
        (
            wide.replacen(first, &with("groups = [3]"), 1),
            Some(
                "23:10: submit[1].args.0: submission 1 reads elements 768 to 1023 of y, which nothing before it writes (submission 0 writes elements 0 to 767 at most)",
            ),
        ),
        (init(&wide.replacen(first, &with("groups = [3]"), 1)), None),
        (
            wide.replacen(first, &short, 1),
            Some(
                "reads elements 1000 to 1023 of y, which nothing before it writes (submission 0 writes elements 0 to 999 at most)",
            ),
        ),
        (
            wide.replacen(first, &with("groups = [3]\nbase = [1]"), 1),
            Some(
                "reads elements 0 to 255 of y, which nothing before it writes (submission 0 writes elements 256 to 1023 at most)",
            ),
        ),
        (
            wide.replacen(first, &twice, 1),
            Some(
                "submission 2 reads elements 256 to 767 of y, which nothing before it writes (submissions 0 and 1 write elements 0 to 255 and 768 to 1023 at most)",
            ),
        ),
        // In place, an element is read before it is written.
        (wide.replacen(first, &own, 1), Some("submission 1 reads elements 1000 to 1023 of y")),
        // Nothing reads it.
        (wide.replacen(first, &short, 1).replacen(second, "0 = \"x\", 1 = \"x\", 2 = \"z\"", 1), None),
    ] {
        let said = said_of(&text);
        match wanted {
            None => assert_eq!(said, "", "{text}"),
            Some(wanted) => {
                assert!(
                    said.contains(wanted) && said.contains(nothing) && said.lines().count() == 1,
                    "{text}\n{said}"
                );
            }
        }
    }
}

/// Arguments of one submission that share a part of a buffer, if one of them is written.
#[test]
fn arguments_that_overlap_are_noted() {
    let to = |args: &str| noted("args = { 0 = \"x\", 1 = \"x\", 2 = \"y\" }", args);
    let halves = LIST.replace("u32 = 64", "u32 = 32");
    let halves = |args: &str| said_of(&halves.replacen("0 = \"y\", 1 = \"y\", 2 = \"z\"", args, 1));
    let upper = "{ buffer = \"z\", offset = 16, len = 48 }";
    let said = halves(&format!("0 = \"z\", 1 = \"y\", 2 = {upper}"));
    let wanted = "submit[1].args.2: this shares elements 16 to 31 of z with the argument at 0.0, and the kernel writes to one of them";
    assert!(said.contains(wanted) && said.contains("docs/reasons.md#overlap"), "{said}");
    // The ranges meet, and with 16 elements nothing of them is touched through both.
    let few = LIST.replace("u32 = 64", "u32 = 16").replacen(
        "0 = \"y\", 1 = \"y\", 2 = \"z\"",
        &format!("0 = \"z\", 1 = \"y\", 2 = {upper}"),
        1,
    );
    assert!(!said_of(&few).contains("this shares"), "{}", said_of(&few));
    // All of the same range, parts apart, and reads alone.
    let lower = "{ buffer = \"z\", len = 16 }";
    for args in
        ["0 = \"y\", 1 = \"z\", 2 = \"z\"".to_owned(), format!("0 = {lower}, 1 = {lower}, 2 = {upper}")]
    {
        let said = halves(&args);
        assert!(!said.contains("this shares"), "{said}");
    }
    let said = to("args = { 0 = \"x\", 1 = { buffer = \"x\", offset = 0, len = 64 }, 2 = \"y\" }");
    assert_eq!(said, "");
}

/// What the numbers of a list make of it: work-groups without work, a part of an output that nothing writes, values that are written over.
#[test]
fn what_the_numbers_say_is_noted() {
    let first = "groups = [1]\npush = [{ u32 = 64 }]\nargs = { 0 = \"x\", 1 = \"x\", 2 = \"y\" }";
    let last = "groups = [1]\npush = [{ u32 = 64 }]\nargs = { 0 = \"y\", 1 = \"y\", 2 = \"z\" }";
    let twice = format!("{first}\n[[submit]]\nkernel = \"mul\"\n{first}");
    for (from, to, wanted) in [
        (
            first,
            &*first.replace("[1]", "[64]"),
            "submit[0]: kernel mul has 64 work-groups in x, and at most the first 1 have something to do; `global` counts invocations",
        ),
        (
            last,
            &*last.replace("u32 = 64", "u32 = 60"),
            "submit[1].args.2: nothing writes elements 60 to 63 of z, which is an output and has no `init`: it holds zeros there",
        ),
        (
            last,
            &*last.replace("u32 = 64", "u32 = 0"),
            "submit[1]: kernel mul does nothing: with these numbers, no invocation reads or writes anything",
        ),
        (
            first,
            &*twice,
            "submit[1].args.2: submission 1 writes over all that submission 0 has written to y, and nothing has read it",
        ),
    ] {
        let said = noted(from, to);
        assert!(said.contains(wanted) && said.lines().count() == 1, "{to}\n{said}");
    }
    // Half of the invocations are those of the last work-group, and what is written in parts is not lost.
    assert_eq!(noted(first, &first.replace("groups = [1]", "global = [65]")), "");
    let halves = LIST.replacen(
        "[[submit]]",
        "[[submit]]\nfill = { buffer = \"y\", value = 1.0, len = 32 }\n[[submit]]",
        1,
    );
    let said = said_of(&halves);
    assert!(said.contains("submission 1 writes over all that submission 0 has written to y"), "{said}");
    let second = LIST.replacen("[[submit]]\nkernel = \"mul\"\ngroups = [1]\npush = [{ u32 = 64 }]\nargs = { 0 = \"y\"", "[[submit]]\nfill = { buffer = \"y\", value = 1.0, len = 32 }\n[[submit]]\nkernel = \"mul\"\ngroups = [1]\npush = [{ u32 = 64 }]\nargs = { 0 = \"y\"", 1);
    assert_eq!(said_of(&second), "");
}

/// Contents of an array with padding, and updates without atomic operations.
#[cfg(feature = "wgsl")]
#[test]
fn padding_and_lost_updates_are_noted() {
    let padded = "@group(0) @binding(0) var<uniform> w: array<vec4<f32>, 4>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = w[id.x].x; }";
    let sum = "@group(0) @binding(0) var<storage, read> w: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[0] += w[id.x]; }";
    let own = sum.replace("y[0]", "y[id.x]");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("list.toml").display().to_string();
    for (kernel, wanted) in [
        (padded, None),
        (
            sum,
            Some(
                "submit[0].args.1: all invocations of kernel k read and write element 0 of y without an atomic operation",
            ),
        ),
        (&*own, None),
    ] {
        std::fs::write(folder.path().join("k.wgsl"), kernel).expect("the folder can be written");
        let text = "format = 1\nkernels.k.path = \"k.wgsl\"\nbuffers.w = { type = \"f32\", len = 16, init = \"iota\" }\n\
             buffers.y = { type = \"f32\", len = 4 }\n[[submit]]\nkernel = \"k\"\ngroups = [1]\nargs = { 0 = \"w\", 1 = \"y\" }\n";
        std::fs::write(&file, text).expect("the folder can be written");
        let said = vkfuse(&["check", &file]).stderr;
        match wanted {
            Some(wanted) => assert!(said.contains(wanted), "{said}"),
            None => assert_eq!(said, ""),
        }
    }
}

/// Invocations that read what others write, in no order.
#[cfg(feature = "wgsl")]
#[test]
fn races_of_invocations_are_noted() {
    let kernel = |body: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<storage, read_write> z: array<f32>;
var<workgroup> s: f32;
@compute @workgroup_size(8, 2) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ let i = id.y * 8u + id.x; {body} }}"
        )
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("list.toml").display().to_string();
    let one = "submit[0].args.0: invocation";
    for (body, wanted) in [
        ("if (i + 1u < 64u) { y[i] = y[i + 1u]; }", Some("reads element 1 of y, and [1, 0, 0] writes it")),
        ("if (i >= 8u) { y[i] = y[i] + y[i - 8u]; }", Some("reads element 8 of y, and [0, 1, 0] writes it")),
        // Its own element, another buffer, parts that do not meet, an order, places that are not followed.
        ("y[i] = y[i] * 2.0;", None),
        ("z[i] = y[i + 1u];", None),
        ("y[i * 2u] = y[i * 2u + 1u];", None),
        ("if (i < 8u) { y[i] = y[i + 8u]; }", None),
        ("let v = y[i + 1u]; s = v; workgroupBarrier(); y[i] = v + s;", None),
        ("y[i] = y[u32(z[i])];", None),
        ("y[0] = 1.0;", None),
    ] {
        std::fs::write(folder.path().join("k.wgsl"), kernel(body)).expect("the folder can be written");
        let text = "format = 1\nkernels.k.path = \"k.wgsl\"\nbuffers.y = { type = \"f32\", len = 129, init = \"iota\" }\n\
            buffers.z = { type = \"f32\", len = 64, init = \"iota\" }\n[[submit]]\nkernel = \"k\"\ngroups = [1, 4]\n\
            args = { 0 = \"y\", 1 = \"z\" }\n";
        std::fs::write(&file, text).expect("the folder can be written");
        let said = vkfuse(&["run", "--quiet", &file]).stderr;
        assert_eq!(said.contains(one), wanted.is_some(), "{body}\n{said}");
        assert!(wanted.is_none_or(|wanted| said.contains(wanted)), "{body}\n{said}");
    }
}

/// What is read only under a condition that does not hold, or whose length alone is asked for, may have no contents.
#[cfg(feature = "wgsl")]
#[test]
fn what_no_invocation_reads_needs_no_contents() {
    let kernel = |value: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read> w: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
var<immediate> mode: u32;
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ var v = mode; {value} y[id.x] = v; }}"
        )
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("list.toml").display().to_string();
    let reads = "it holds zeros";
    for (value, wanted) in [
        ("v += arrayLength(&w);", None),
        ("if mode == 1u { v += w[id.x]; }", None),
        ("if mode == 7u { v += w[id.x]; }", Some(reads)),
        ("v += w[id.x];", Some(reads)),
    ] {
        std::fs::write(folder.path().join("k.wgsl"), kernel(value)).expect("the folder can be written");
        let text = "format = 1\nkernels.k.path = \"k.wgsl\"\nbuffers.w = { type = \"u32\", len = 16 }\n\
            buffers.y = { type = \"u32\", len = 16 }\n[[submit]]\nkernel = \"k\"\ngroups = [4]\npush = [{ u32 = 7 }]\n\
            args = { 0 = \"w\", 1 = \"y\" }\n";
        std::fs::write(&file, text).expect("the folder can be written");
        let said = vkfuse(&["run", "--quiet", &file]).stderr;
        assert_eq!(said.contains(reads), wanted.is_some(), "{value}\n{said}");
    }
}

/// Values of one type in a block of several.
#[cfg(feature = "wgsl")]
#[test]
fn values_of_one_type_for_a_block_of_several_are_noted() {
    let kernel = "struct P { scale: f32, n: u32 }
@group(0) @binding(0) var<storage, read> p: P;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < p.n) { y[id.x] = p.scale; }
}";
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.wgsl"), kernel).expect("the folder can be written");
    let file = folder.path().join("list.toml").display().to_string();
    for (init, is_noted) in [
        ("{ values = [2, 64] }", true),
        ("{ scalars = [{ f32 = 2.0 }, { u32 = 64 }] }", false),
        ("{ values = [0, 0] }", false),
        ("\"zeros\"", false),
    ] {
        let text = format!(
            "format = 1\nkernels.k.path = \"k.wgsl\"\nbuffers.p = {{ type = \"f32\", len = 2, init = {init} }}\n\
             buffers.y = {{ type = \"f32\", len = 64 }}\n[[submit]]\nkernel = \"k\"\ngroups = [1]\nargs = {{ 0 = \"p\", 1 = \"y\" }}\n"
        );
        std::fs::write(&file, text).expect("the folder can be written");
        let said = vkfuse(&["check", &file]).stderr;
        let wanted = "f32, u32 } } there, and all values of p are f32: `init = { scalars = [";
        assert_eq!(said.contains(wanted), is_noted, "{init}: {said}");
        assert_eq!(said.is_empty(), !is_noted, "{init}: {said}");
    }
}

#[test]
fn an_output_that_stays_inside_is_said_not_to_be_compared() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let outputs = "outputs = [\"tmp1\", \"out\"]";
    let file = changed(folder.path(), "chain.toml", "outputs = [\"out\"]", outputs);
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!(status, 0, "{report:#}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("tmp1 was promoted") && notes.contains("it is not compared"), "{notes}");
    let (_, report) = json(&["run", &example("chain.toml"), "--no-cache"]);
    assert_eq!(report["notes"], serde_json::json!([]));
}

/// What a file gives and Vulkan accepts, and that is a mistake more often than not, is a note.
#[test]
fn what_is_odd_about_a_file_is_said() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("temporary folder");
    let chain = "\"0\" = \"in1\"";
    let cases = [
        (
            "{ u32 = 65539 }",
            "{ f32 = 65539.0 }",
            Some("has u32 at byte 0 of its push constants, and f32 is given"),
        ),
        ("{ u32 = 65539 }", "{ i32 = 65539 }", None),
        ("{ u32 = 65539 }", "{ hex = \"03000100\" }", None),
        (
            "[{ u32 = 65539 }]",
            "[{ u32 = 65539 }, { u32 = 1 }]",
            Some("takes 4 bytes of push constants, and 8 are given"),
        ),
        ("global = [65539]", "global = [0]", Some("is dispatched with no work-groups")),
        (chain, chain, None),
    ];
    for (from, to, note) in cases {
        let file = changed(folder.path(), "chain.toml", from, to);
        let finished = vkfuse(&["run", &file, "--mode", "unfused"]);
        let said: Vec<&str> = finished.stderr.lines().filter(|line| line.contains("WARN")).collect();
        match note {
            Some(note) => assert!(
                !said.is_empty() && said.iter().all(|line| line.contains(note)),
                "{to}: {}",
                finished.stderr
            ),
            None => assert!(said.is_empty(), "{to}: {}", finished.stderr),
        }
    }
    // It is said once, by the command, which knows the place.
    let file = changed(folder.path(), "chain.toml", "global = [65539]", "global = [0]");
    let said = vkfuse(&["run", &file, "--mode", "unfused"]).stderr;
    assert!(said.contains("submit[0]: kernel mul is dispatched with no work-groups"), "{said}");
    assert_eq!(said.matches("kernel mul is dispatched").count(), 1, "{said}");
    let out = "[buffers.out]\n";
    let file = changed(folder.path(), "chain.toml", out, "[buffers.out]\npromote = \"private\"\n");
    let finished = vkfuse(&["run", &file]);
    assert!(
        finished.stderr.contains("buffer out is to be promoted, and no submission reads it"),
        "{}",
        finished.stderr
    );
    let file = changed(folder.path(), "chain.toml", "[fusion]", "[fusion]\nno_barriers = true");
    let finished = vkfuse(&["run", &file]);
    assert!(
        finished.stderr.contains("`no_barriers` has no effect without the policy"),
        "{}",
        finished.stderr
    );
}

/// Every command says what is odd about a file once on the standard error, and once in its object, and `--quiet` takes away neither.
#[test]
fn notes_are_said_once_by_every_command() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("list.toml").display().to_string();
    let kernels = root().join("shaders").display().to_string();
    let odd = LIST
        .replace('@', &kernels)
        .replacen("init = \"iota\"\n", "", 1)
        .replacen("groups = [1]", "groups = [1, 3]", 1)
        .replacen("kernel = \"mul\"\ngroups = [1]\n", "kernel = \"mul\"\ngroups = [0]\n", 1);
    std::fs::write(&file, odd).expect("the folder can be written");
    let wanted = ["and it has no `init`", "that differ in y alone", "with no work-groups"];
    let at = [("run", "/notes"), ("plan", "/list/notes"), ("bench", "/notes"), ("check", "/file_notes")];
    for (command, pointer) in at {
        let mut args = vec![command, &file, "--quiet", "--json"];
        args.extend((command == "bench").then_some(["--iters", "1"]).into_iter().flatten());
        let finished = vkfuse(&args);
        let report: serde_json::Value = serde_json::from_str(&finished.stdout)
            .unwrap_or_else(|_| panic!("{command}: {}", finished.stderr));
        let notes = report.pointer(pointer).and_then(serde_json::Value::as_array);
        let notes = notes.unwrap_or_else(|| panic!("{command}: {report:#}"));
        assert_eq!(notes.len(), wanted.len(), "{command}: {notes:#?}");
        for want in wanted {
            let said = notes.iter().filter(|note| note.as_str().is_some_and(|note| note.contains(want)));
            assert_eq!(said.count(), 1, "{command}: {want}: {notes:#?}");
            assert_eq!(finished.stderr.matches(want).count(), 1, "{command}: {want}: {}", finished.stderr);
        }
    }
}
