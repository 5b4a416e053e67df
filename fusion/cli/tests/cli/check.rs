//! `vkfuse check`: defects are found and named, sound files are clean. Needs no device.

use crate::process::{changed, example, json, root, vkfuse};
use serde_json::{Value, json};
use std::path::Path;

fn defect(name: &str) -> Value {
    let (status, report) = json(&["check", &example(&format!("defects/{name}.toml"))]);
    assert_eq!(status, 1, "{report:#}");
    assert_eq!((&report["format"], &report["clean"]), (&json!(1), &json!(false)));
    report
}

/// Demands that nothing was found but findings of one kind, and returns the first.
fn only(report: &Value, kind: &str) -> Value {
    for other in ["races", "out_of_bounds", "uninitialised", "divergent_barriers", "undefined"] {
        let count = report[other]["count"].as_u64().expect("a count");
        assert_eq!(count > 0, other == kind, "{report:#}");
    }
    report[kind]["list"][0].clone()
}

#[test]
fn a_race_names_both_invocations() {
    let report = defect("race");
    let race = only(&report, "races");
    assert_eq!(
        (&race["submission"], &race["kernel"], &race["buffer"]),
        (&json!(0), &json!("shift"), &json!("x"))
    );
    let (first, second) = (&race["first"], &race["second"]);
    assert_eq!((&first["binding"], &second["binding"]), (&json!("0.0"), &json!("0.0")));
    // Element i is read by invocation i - 1 and written by invocation i.
    let index = race["index"].as_u64().expect("an element");
    let mut invocations = [first, second].map(|who| who["invocation"][0].as_u64().expect("an id"));
    invocations.sort_unstable();
    let mut expected = [index, (index + 255) % 256];
    expected.sort_unstable();
    assert_eq!(invocations, expected, "{race:#}");
    assert!([first, second].iter().any(|who| who["kind"] == "write"), "{race:#}");
}

#[test]
fn an_access_out_of_bounds_names_its_element() {
    let report = defect("out_of_bounds");
    let touch = only(&report, "out_of_bounds");
    assert_eq!((&touch["buffer"], &touch["index"]), (&json!("x"), &json!(128)));
    assert_eq!(touch["access"]["invocation"], json!([127, 0, 0]));
    assert_eq!(touch["access"]["kind"], "read");
    assert_eq!(report["out_of_bounds"]["count"], 1);
}

#[test]
fn an_uninitialised_read_names_its_element() {
    let report = defect("uninitialised");
    let touch = only(&report, "uninitialised");
    assert_eq!((&touch["submission"], &touch["buffer"]), (&json!(1), &json!("tmp")));
    let index = touch["index"].as_u64().expect("an element");
    assert!((100..128).contains(&index), "{touch:#}");
    assert_eq!(touch["access"]["invocation"][0], index);
    // All 28 are counted, and 16 are listed.
    assert_eq!(report["uninitialised"]["count"], 28);
    assert_eq!(report["uninitialised"]["list"].as_array().map(Vec::len), Some(16));
}

/// Strict code for floats has its undefined values given; what is checked is what the file has.
#[test]
fn kernels_are_checked_as_they_are_in_their_files() {
    const UNSET: &str = "#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer Z { float z[]; };
void main() {
    float value;
    if (gl_LocalInvocationID.x % 2 == 0) value = 5.0;
    z[gl_GlobalInvocationID.x] = value;
}
";
    let text = "format = 1\nkernels.unset.path = \"unset.spv\"\nbuffers.z = { type = \"f32\", len = 128 }\n\
                [[submit]]\nkernel = \"unset\"\ngroups = [2]\nargs = { 0 = \"z\" }\n";
    for fusion in ["", "[fusion]\nfloat = \"contract\"\n"] {
        let Some((status, report)) = of_glsl(UNSET, &format!("{text}{fusion}")) else { return };
        assert_eq!((status, &report["uninitialised"]["count"]), (1, &json!(64)), "{report:#}");
    }
}

/// Runs `check` on a list whose kernel `unset.spv` is compiled from this GLSL. `None` without a compiler.
fn of_glsl(kernel: &str, list: &str) -> Option<(i32, Value)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Some(json(&["check", &file_of_glsl(folder.path(), kernel, list, &[])?]))
}

/// That list, as a file; with options for the compiler. `None` without one.
fn file_of_glsl(folder: &Path, kernel: &str, list: &str, options: &[&str]) -> Option<String> {
    let [source, module, file] = ["unset.comp", "unset.spv", "unset.toml"].map(|name| folder.join(name));
    std::fs::write(&source, kernel).expect("the folder can be written");
    let mut glslang = std::process::Command::new("glslangValidator");
    let glslang = glslang.args(["--target-env", "vulkan1.1"]).args(options).arg("-o");
    let Ok(compiled) = glslang.arg(&module).arg(&source).output() else {
        eprintln!("skipped: there is no glslangValidator");
        return None;
    };
    assert!(compiled.status.success(), "{compiled:?}");
    std::fs::write(&file, list).expect("the folder can be written");
    Some(file.display().to_string())
}

/// With the debug information of the module, which is not in what runs.
#[test]
fn findings_name_variables_and_lines() {
    const SUM: &str = "#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) writeonly buffer Z { float z[]; };
layout(set = 0, binding = 1) readonly buffer X { float x[]; };
shared float parts[256];
float sum() {
    float all = 0.0;
    for (int i = 0; i < 256; i++)
        all += parts[i];
    return all;
}
float unused() { return z.length() > 3 ? 1.0 : 2.0; }
void main() {
    parts[gl_LocalInvocationID.x] = 1.0;
    barrier();
    if (gl_LocalInvocationID.x == 0)
        z[0] = sum() + x[100];
}
";
    let list = "format = 1\nkernels.unset = { path = \"unset.spv\", local_size = [64] }\n\
                buffers.z = { type = \"f32\", len = 1 }\n\
                buffers.x = { type = \"f32\", len = 8, init = \"zeros\" }\n\
                [[submit]]\nkernel = \"unset\"\ngroups = [1]\nargs = { 0 = \"z\", 1 = \"x\" }\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (option, lines) in [("-g", true), ("-gVS", true), ("-g0", false)] {
        let Some(file) = file_of_glsl(folder.path(), SUM, list, &[option]) else { return };
        let (status, report) = json(&["check", &file]);
        assert_eq!((status, &report["uninitialised"]["count"]), (1, &json!(192)), "{report:#}");
        let touch = &report["uninitialised"]["list"][0];
        let access = &touch["access"];
        let smaller = "the module's local size is 256, `local_size` makes it 64";
        assert_eq!(touch["note"], smaller, "{report:#}");
        let outside = &report["out_of_bounds"]["list"][0]["access"];
        let text = vkfuse(&["check", &file]).stdout;
        assert!(text.contains(&format!("kernel unset: {smaller}\n")), "{text}");
        assert!(text.contains("and 176 more accesses: these are 16 of 192, see --list\n"), "{text}");
        if lines {
            assert_eq!((&access["variable"], &access["line"]), (&json!("parts"), &json!(9)), "{report:#}");
            assert_eq!(outside["line"], 17, "{report:#}");
            assert!(text.contains("read of shared variable parts by (0, 0, 0) at unset.comp:9\n"), "{text}");
            assert!(text.contains("read of binding 0.1 by (0, 0, 0) at unset.comp:17\n"), "{text}");
        } else {
            let nothing = (&access["variable"], &access["line"], &outside["line"]);
            assert_eq!(nothing, (&json!(null), &json!(null), &json!(null)), "{report:#}");
            assert!(text.contains("read of shared variable %"), "{text}");
        }
    }
}

#[test]
fn texels_outside_are_one_row() {
    const MOVED: &str = "#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, r32ui) uniform uimage2D a;
layout(set = 0, binding = 1, r32ui) uniform uimage2D b;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    imageStore(b, at, imageLoad(a, at + ivec2(2, 0)));
}
";
    let list = "format = 1\nkernels.unset.path = \"unset.spv\"\n\
                images.a = { format = \"r32ui\", size = [16, 8], init = \"iota\" }\n\
                images.b = { format = \"r32ui\", size = [16, 8] }\n\
                [[submit]]\nkernel = \"unset\"\nglobal = [16, 8]\nargs = { 0 = \"a\", 1 = \"b\" }\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(file) = file_of_glsl(folder.path(), MOVED, list, &[]) else { return };
    let text = vkfuse(&["check", &file]).stdout;
    assert!(text.contains("  texels (16, 0, 0) to (17, 7, 0)  16 "), "{text}");
    assert_eq!(text.matches("read of binding 0.0 by").count(), 1, "{text}");
}

/// Vulkan leaves remainders of negative integers open.
#[test]
fn a_remainder_of_a_negative_integer_is_found_where_it_reaches_a_result() {
    let kernel = |value: &str| {
        format!(
            "#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform P {{ int n; }};
layout(set = 0, binding = 0) writeonly buffer Z {{ int z[]; }};
void main() {{ int i = int(gl_GlobalInvocationID.x); z[i] = {value}; }}
"
        )
    };
    let list = "format = 1\nkernels.unset.path = \"unset.spv\"\nbuffers.z = { type = \"i32\", len = 128 }\n\
                [[submit]]\nkernel = \"unset\"\ngroups = [2]\npush = [{ i32 = 5 }]\nargs = { 0 = \"z\" }\n";
    for (value, count) in [("(i - 7) % n", 1), ("(i - 7) % n * 0", 0), ("i % n", 0)] {
        let Some((status, report)) = of_glsl(&kernel(value), list) else { return };
        assert_eq!((status, &report["undefined"]["count"]), (count, &json!(count)), "{value}: {report:#}");
        if count > 0 {
            let result = only(&report, "undefined");
            assert_eq!(result["what"], "remainder of or by a negative integer");
        }
    }
}

#[test]
fn an_undefined_result_that_is_stored_is_found_and_one_that_is_dropped_is_not() {
    let report = defect("undefined");
    let result = only(&report, "undefined");
    assert_eq!((&result["submission"], &result["kernel"]), (&json!(0), &json!("means")));
    assert_eq!((&result["what"], &result["reaches"]), (&json!("division by zero"), &json!("a result")));
    // The remainder's; the quotients of empty groups are dropped.
    assert_eq!(report["undefined"]["count"], 1);
    assert_eq!(report["unfollowed"], 0);
    let (_, report) = json(&["check", &example("defects/undefined.toml"), "--list", "1"]);
    assert_eq!(report["unfollowed"], 1);
}

#[test]
fn a_table_for_people() {
    let finished = vkfuse(&["check", &example("defects/race.toml"), "--list", "2"]);
    assert_eq!(finished.status, 1);
    assert!(finished.stdout.contains("write of binding 0.0 by ("), "{}", finished.stdout);
    assert!(finished.stdout.contains(" more races: these are 2 of "), "{}", finished.stdout);
    // What is certain without running it is noted as well, once.
    let said = finished.stderr;
    assert!(
        said.contains("reads element 1 of x, and [1, 0, 0] writes it") && said.lines().count() == 1,
        "{said}"
    );
}

/// None of the files that show how something is done does anything wrong.
#[test]
fn every_example_is_clean() {
    let folder = root().join("examples/pipelines");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the examples are there") {
        let path = entry.expect("a name").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let (status, report) = json(&["check", &path.display().to_string()]);
        assert_eq!(status, 0, "{}: {report:#}", path.display());
        assert_eq!(report["clean"], true);
        seen += 1;
    }
    assert!(seen >= 8, "{seen} examples");
}

#[test]
fn what_is_too_large_is_refused() {
    let file = example("defects/race.toml");
    let finished = vkfuse(&["check", &file, "--max-bytes", "1023"]);
    assert_eq!((finished.status, finished.stdout.as_str()), (2, ""));
    assert!(
        finished.stderr.contains("1024 bytes") && finished.stderr.contains("--max-bytes"),
        "{}",
        finished.stderr
    );
    assert_eq!(vkfuse(&["check", &file, "--max-bytes", "1024"]).status, 1);
    let finished = vkfuse(&["check", &file, "--max-steps", "100"]);
    assert_eq!(finished.status, 2);
    assert!(finished.stdout.contains("given up in submission 0"), "{}", finished.stdout);
    assert!(finished.stderr.contains("--max-steps"), "{}", finished.stderr);
}

#[test]
fn a_file_that_is_wrong() {
    assert_eq!(vkfuse(&["check", "no/such/file.toml"]).status, 2);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = changed(folder.path(), "chain.toml", "format = 1", "format = 2");
    assert_eq!(vkfuse(&["check", &file]).status, 2);
}
