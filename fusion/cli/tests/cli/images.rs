//! Images in pipeline files.

use crate::process::{has_device, json, root, vkfuse};
use serde_json::json;

#[test]
fn the_example_is_one_dispatch() {
    if !has_device() {
        return;
    }
    let file = root().join("examples/pipelines/images.toml").display().to_string();
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!(status, 0, "{report:#}");
    let members: Vec<_> = report["groups"].as_array().unwrap().iter().map(|g| g["kernels"].clone()).collect();
    assert_eq!(members, [json!([0, 1, 2, 3, 4])], "{report:#}");
    assert_eq!(report["splits"], json!([]));
    for name in ["photo", "bright", "soft", "blurred"] {
        assert_eq!(report["outputs"][name]["equal"], json!(true), "{report:#}");
    }
    assert_ne!(report["outputs"]["soft"]["head"], json!([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
}

/// Eight bits a channel, in three dimensions, and what an image starts with.
#[test]
fn formats_and_contents() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shaders = root().join("shaders/images").display().to_string();
    let text = format!(
        "format = 1\n[kernels.volume]\npath = \"{shaders}/volume.spv\"\n[images.v]\nformat = \"r32ui\"\n\
         size = [5, 3, 2]\ninit = \"iota\"\n[[submit]]\nkernel = \"volume\"\nglobal = [5, 3, 2]\nargs = {{ 0 = \"v\" }}\n\
         [[submit]]\nkernel = \"volume\"\nglobal = [5, 3, 2]\nargs = {{ 0 = {{ image = \"v\" }} }}\n"
    );
    let file = folder.path().join("volume.toml").display().to_string();
    std::fs::write(&file, text).expect("the folder can be written");
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!((status, &report["outcome"]), (0, &json!("fused")), "{report:#}");
    assert_eq!(report["outputs"]["v"]["head"], json!([4, 13, 22, 31, 40, 49, 58, 67]));
}

#[test]
fn what_is_wrong_with_images_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shaders = root().join("shaders/images").display().to_string();
    let text = |images: &str, args: &str| {
        format!(
            "format = 1\n[kernels.gain]\npath = \"{shaders}/gain.spv\"\n[kernels.blur]\npath = \"{shaders}/blur.combined.spv\"\n\
             [buffers.b]\ntype = \"f32\"\nlen = 16\n[images.a]\nformat = \"r32f\"\nsize = [4, 4]\n{images}\n\
             [[submit]]\nglobal = [4, 4]\n{args}\n"
        )
    };
    let gain = |args: &str| format!("kernel = \"gain\"\npush = [{{ f32 = 1.0 }}]\nargs = {{ {args} }}");
    let cases = [
        (text("[images.b]\nformat = \"r32f\"\nsize = [1]", &gain("0 = \"a\"")), "\"b\" is a buffer, too"),
        (text("[images.c]\nformat = \"rgb9\"\nsize = [1]", &gain("0 = \"a\"")), "rgba8ui"),
        (text("[images.c]\nformat = \"r8\"\nsize = []", &gain("0 = \"a\"")), "one to three"),
        (text("", &gain("0 = \"b\", 1 = \"a\"")), "is an image, and b is a buffer"),
        (text("", &gain("0 = { image = \"b\" }, 1 = \"a\"")), "b is a buffer, expected { buffer = \"b\" }"),
        (text("", &gain("0 = { buffer = \"a\" }, 1 = \"a\"")), "expected { image = \"a\" }"),
        (text("", &gain("0 = { image = \"a\", sampler = \"linear\" }, 1 = \"a\"")), "takes no sampler"),
        (text("", "kernel = \"blur\"\nargs = { 0 = \"a\", 1 = \"a\" }"), "takes a sampler"),
    ];
    for (text, message) in cases {
        let file = folder.path().join("wrong.toml").display().to_string();
        std::fs::write(&file, &text).expect("the folder can be written");
        let finished = vkfuse(&["run", &file]);
        let said = finished.stderr.clone();
        assert!(
            finished.status == 2 && said.contains(message),
            "{message}: {} {said}\n{text}",
            finished.status
        );
    }
}

/// Buffers that a kernel sees through a format, and what is wrong with them.
#[test]
fn buffers_are_bound_as_texels() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shaders = root().join("shaders/texels").display().to_string();
    let text = |args: &str| {
        format!(
            "format = 1\n[kernels.turn]\npath = \"{shaders}/turn.spv\"\n[buffers.a]\ntype = \"f32\"\nlen = 4\ninit = \"iota\"\n\
             [buffers.b]\ntype = \"f32\"\nlen = 4\n[images.i]\nformat = \"r32f\"\nsize = [4, 4]\n\
             [[submit]]\nkernel = \"turn\"\nglobal = [4]\nargs = {{ {args} }}\n"
        )
    };
    let file = folder.path().join("texels.toml").display().to_string();
    let write = |args: &str| std::fs::write(&file, text(args)).expect("the folder can be written");
    let from = "0 = { buffer = \"a\", texels = \"r32f\" }";
    for (args, message) in [
        (format!("{from}, 1 = \"b\""), "texels = \"r32f\""),
        (format!("{from}, 1 = \"i\""), "is a buffer of texels, and i is an image"),
        (format!("{from}, 1 = {{ buffer = \"b\", texels = \"rgb9\" }}"), "rgba8ui"),
    ] {
        write(&args);
        let finished = vkfuse(&["run", &file]);
        assert!(finished.status == 2 && finished.stderr.contains(message), "{message}: {}", finished.stderr);
    }
    if !has_device() {
        return;
    }
    write(&format!("{from}, 1 = {{ buffer = \"b\", texels = \"r32f\" }}"));
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!(status, 0, "{report:#}");
    assert_eq!(report["outputs"]["b"]["head"], json!([7.0, 5.0, 3.0, 1.0]), "{report:#}");
    // The file's class of texels is another than the kernel's.
    write(&format!("{from}, 1 = {{ buffer = \"b\", texels = \"r32ui\" }}"));
    let finished = vkfuse(&["run", &file]);
    assert!(
        finished.status == 2 && finished.stderr.contains("is declared as r32f, and texels here are r32ui"),
        "{}",
        finished.stderr
    );
}

/// Elements of an array of descriptors, by a list of names, and what is wrong with them.
#[test]
fn arrays_take_lists_of_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shaders = root().join("shaders").display().to_string();
    let text = |args: &str| {
        let buffer = |name: &str, fill: f32| {
            format!("[buffers.{name}]\ntype = \"f32\"\nlen = 64\ninit = {{ fill = {fill:?} }}\n")
        };
        let buffers: String = [("a", 1.0), ("b", 2.0), ("c", 4.0), ("d", 8.0), ("bias", 0.5)]
            .map(|(name, fill)| buffer(name, fill))
            .concat();
        format!(
            "format = 1\n[kernels.sum]\npath = \"{shaders}/arrays/constant.spv\"\n\
             [kernels.line]\npath = \"{shaders}/library/line.spv\"\n{buffers}[images.i]\nformat = \"r32f\"\nsize = [4, 4]\n\
             [[submit]]\nkernel = \"line\"\nglobal = [64]\nargs = {{ 0 = \"a\", 1 = \"b\" }}\npush = [{{ u32 = 64 }}]\n\
             [[submit]]\nkernel = \"line\"\nglobal = [64]\nargs = {{ 0 = \"b\", 1 = \"c\" }}\npush = [{{ u32 = 64 }}]\n\
             [[submit]]\nkernel = \"sum\"\nglobal = [64]\nargs = {{ {args} }}\npush = [{{ u32 = 64 }}]\n"
        )
    };
    let file = folder.path().join("arrays.toml").display().to_string();
    let write = |args: &str| std::fs::write(&file, text(args)).expect("the folder can be written");
    let biases = "1 = [\"bias\", \"bias\"]";
    for (args, message) in [
        (format!("0 = [\"a\", \"b\", \"c\"], {biases}"), "has 4 elements, and 3 are given"),
        (format!("0 = \"a\", {biases}"), "has 4 elements, and 1 are given"),
        (format!("0 = [], {biases}"), "which has no argument"),
        (format!("0 = [\"a\", \"b\", \"c\", \"d\", \"a\"], {biases}"), "has 4 elements, and 5 are given"),
        (format!("0 = [\"a\", \"i\", \"c\", \"d\"], {biases}"), "0.0[1]"),
        (format!("0 = [\"a\", [\"b\"], \"c\", \"d\"], {biases}"), "the name of a buffer"),
        (format!("0 = [\"a\", \"e\", \"c\", \"d\"], {biases}"), "unknown buffer \"e\""),
    ] {
        write(&args);
        let finished = vkfuse(&["run", &file]);
        assert!(finished.status == 2 && finished.stderr.contains(message), "{message}: {}", finished.stderr);
    }
    let (status, report) = json(&["inspect", &format!("{shaders}/arrays/constant.spv")]);
    assert_eq!(status, 0);
    let bindings = &report["entries"][0]["bindings"];
    assert_eq!((&bindings[0]["elements"], &bindings[1]["elements"]), (&json!(4), &json!(2)), "{report:#}");
    write(&format!("0 = [\"a\", \"b\", {{ buffer = \"c\" }}, \"d\"], {biases}"));
    // The interpreter has no such arrays, and says so.
    let finished = vkfuse(&["check", &file]);
    assert!(finished.status == 2 && finished.stderr.contains("array"), "{}", finished.stderr);
    if !has_device() {
        return;
    }
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!((status, &report["outcome"]), (0, &json!("split")), "{report:#}");
    // 8 + (1 + 2 + 3) + 0.5
    assert_eq!(report["outputs"]["d"]["head"][0], json!(14.5), "{report:#}");
    assert_eq!(report["groups"].as_array().map(Vec::len), Some(2), "{report:#}");
}
