//! The capture layer, on a program of these tests that submits through each kind of call, and what `vkfuse capture` makes of it.

#[path = "../cli/process.rs"]
#[allow(dead_code)]
mod process;
mod program;

use process::{Finished, command, finish, has_device, root, vkfuse};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const LAYER: &str = "VK_LAYER_VKFUSE_capture";
const VALIDATION: &str = "VK_LAYER_KHRONOS_validation";

/// Runs as a program of its own where a test asks for it.
#[test]
fn the_program() {
    if std::env::var_os("VKFUSE_TEST_PROGRAM").is_none() {
        return;
    }
    let bytes = std::fs::read(root().join("shaders/capture/scale.spv")).expect("the kernel");
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect();
    let out = program::run(&words);
    assert_eq!(out, program::expected());
    let hash = blake3::hash(&out.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    println!("read back {}", hash.to_hex());
}

/// Arguments that run the program.
fn arguments() -> Vec<String> {
    let own = std::env::current_exe().expect("this binary").display().to_string();
    [&own, "--exact", "the_program", "--nocapture", "--test-threads=1"].map(str::to_owned).to_vec()
}

/// The lines that do not depend on the time.
fn said(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("test result") && !line.trim().is_empty()).collect()
}

/// Captures the program.
fn captured(folder: &Path, contents: &str, layers: &str) -> Finished {
    let mut command = command();
    command.env("VKFUSE_TEST_PROGRAM", "1").env("VK_INSTANCE_LAYERS", layers);
    command.args(["capture", "--contents", contents, "--to"]).arg(folder).arg("--").args(arguments());
    finish(&mut command)
}

fn alone() -> Finished {
    let arguments = arguments();
    let mut command = Command::new(&arguments[0]);
    finish(command.args(&arguments[1..]).env("VKFUSE_TEST_PROGRAM", "1"))
}

fn json(arguments: &[&str]) -> Value {
    let finished = vkfuse(arguments);
    assert_eq!(finished.status, 0, "{}\n{}", finished.stdout, finished.stderr);
    serde_json::from_str(&finished.stdout).expect("JSON")
}

/// A folder for a capture, and it as text.
fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture").display().to_string();
    (folder, path)
}

#[test]
fn lists_of_a_capture_run_with_the_programs_own_bits() {
    if !has_device() {
        return;
    }
    let (_kept, folder) = folder();
    let (alone, captured) = (alone(), captured(Path::new(&folder), "both", ""));
    assert_eq!((alone.status, captured.status), (0, 0), "{}", captured.stderr);
    assert_eq!(said(&alone.stdout), said(&captured.stdout));
    let read_back = alone.stdout.lines().find_map(|line| line.split("read back ").nth(1)).expect("a hash");

    let written = json(&["capture", "to-lists", &folder, "--json"]);
    assert_eq!((&written["submissions"], &written["dispatches"]), (&5.into(), &10.into()), "{written:#}");
    let lists = written["lists"].as_array().expect("lists");
    let counted: Vec<[u64; 4]> = lists
        .iter()
        .map(|list| {
            ["dispatches", "copies", "fills", "temporaries"].map(|key| list[key].as_u64().expect("a number"))
        })
        .collect();
    assert_eq!(counted, [[2, 2, 1, 1], [3, 0, 0, 2], [2, 0, 0, 1], [2, 0, 0, 0], [1, 0, 0, 0]]);
    let mut hashes = Vec::new();
    for list in lists {
        assert_eq!(list["contents"], true, "{list:#}");
        let file = list["file"].as_str().expect("a file");
        let run = json(&["run", file, "--no-cache", "--json"]);
        for (name, hash) in list["after"].as_object().expect("hashes") {
            let output = &run["outputs"][name];
            assert_ne!(output["equal"], false, "{file}: {name}");
            assert!(output["blake3"].is_null() || output["blake3"] == *hash, "{file}: {name}: {output:#}");
        }
        let outputs = run["outputs"].as_object().expect("outputs").values();
        hashes.extend(outputs.filter_map(|output| output["blake3"].as_str().map(str::to_owned)));
        let compared = list["after"].as_object().map_or(0, serde_json::Map::len);
        // The last list ends with a command whose effect is not captured.
        assert_eq!(compared > 0, list["submission"] != 3, "{list:#}");
    }
    assert!(hashes.iter().any(|hash| hash == read_back), "no list makes what the program read back");
}

#[test]
fn what_is_not_captured_is_named_and_the_program_goes_on() {
    if !has_device() {
        return;
    }
    let (_kept, folder) = folder();
    let captured = captured(Path::new(&folder), "none", "");
    assert_eq!(captured.status, 0, "{}", captured.stderr);
    for call in ["vkCmdSetEvent", "vkCmdCopyQueryPoolResults"] {
        assert!(
            captured.stderr.contains(&format!("not captured: {call}, its effect")),
            "{}",
            captured.stderr
        );
    }
    assert!(!captured.stderr.contains("vkCmdResetQueryPool"), "{}", captured.stderr);
    let again = self::captured(Path::new(&folder), "none", "");
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("holds a capture already"), "{}", again.stderr);
    // Without contents, lists start from zeros.
    let written = json(&["capture", "to-lists", &folder, "--json"]);
    assert_eq!(written["lists"][0]["contents"], false);
    assert_eq!(written["lists"].as_array().map(Vec::len), Some(5));
}

#[test]
fn validation_is_silent_above_and_below() {
    if !has_device() {
        return;
    }
    for layers in [VALIDATION.to_owned(), format!("{VALIDATION}:{LAYER}")] {
        let (_kept, folder) = folder();
        let captured = captured(Path::new(&folder), "both", &layers);
        assert_eq!(captured.status, 0, "{}\n{}", captured.stdout, captured.stderr);
        for text in [&captured.stdout, &captured.stderr] {
            assert!(!text.contains("Validation") && !text.contains("VUID"), "{layers}: {text}");
        }
        assert!(captured.stderr.contains("5 submissions with 10 dispatches"), "{}", captured.stderr);
    }
}

#[test]
fn the_report_says_what_fusion_gains() {
    if !has_device() {
        return;
    }
    let (kept, folder) = folder();
    assert_eq!(captured(Path::new(&folder), "before", "").status, 0);
    let page = kept.path().join("page.html").display().to_string();
    let report =
        json(&["capture", "report", &folder, "--no-cache", "--measure", "2", "--html", &page, "--json"]);
    let number = |key: &str| report[key].as_u64().unwrap_or_else(|| panic!("{key}: {report:#}"));
    assert_eq!(number("steps"), 13);
    assert!(number("dispatches") < 13, "{report:#}");
    assert!(number("bytes_after") < number("bytes_before"));
    assert_eq!(report["lists"].as_array().map(Vec::len), Some(5));
    assert!(report["measured_us"]["fused"].as_f64() > Some(0.0), "{report:#}");
    assert!(report["failed"].as_array().is_some_and(Vec::is_empty), "{report:#}");
    let html = std::fs::read_to_string(page).expect("the page");
    for text in ["<svg", "Why lists are split", "vkCmdCopyQueryPoolResults", "0000.toml, 1 times"] {
        assert!(html.contains(text), "{text}");
    }
    let text = vkfuse(&["capture", "report", &folder, "--no-cache"]);
    assert!(text.stdout.contains("need not move"), "{}", text.stdout);
}

#[test]
fn a_program_ends_as_it_does_without_the_layer() {
    let (_kept, folder) = folder();
    let ended = vkfuse(&["capture", "--to", &folder, "--", "sh", "-c", "echo one; exit 7"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (7, "one\n"));
    assert!(ended.stderr.contains("made no Vulkan instance"), "{}", ended.stderr);
    let missing = vkfuse(&["capture", "--to", &folder, "--", "/nowhere/program"]);
    assert_eq!(missing.status, 2);
    assert!(missing.stderr.contains("/nowhere/program"), "{}", missing.stderr);
    let nothing = vkfuse(&["capture"]);
    assert_eq!(nothing.status, 2);
    assert_eq!(vkfuse(&["capture", "to-lists", "/nowhere"]).status, 2);
}

/// Where there is nothing to report, that is said.
#[test]
fn a_program_without_an_instance_is_said_to_be_one() {
    let ended = vkfuse(&["fuse", "--report", "--", "sh", "-c", "exit 7"]);
    assert_eq!(ended.status, 7, "{}", ended.stderr);
    assert!(ended.stderr.contains("sh made no Vulkan instance"), "{}", ended.stderr);
}

/// Settings of the layers that say nothing to them.
#[test]
fn settings_that_a_layer_does_not_know_are_said() {
    if !has_device() {
        return;
    }
    let (kept, folder) = folder();
    assert_eq!(vkfuse(&["capture", "--to", &folder, "--", "true"]).status, 0);
    let arguments = arguments();
    let mut command = Command::new(&arguments[0]);
    command.args(&arguments[1..]).env("VKFUSE_TEST_PROGRAM", "1");
    command.env("VK_ADD_LAYER_PATH", Path::new(&folder).join("layer")).env("VK_INSTANCE_LAYERS", LAYER);
    command.env("VKFUSE_CAPTURE", kept.path().join("other"));
    command.env("VKFUSE_CAPTURE_CONTENTS", "after").env("VKFUSE_CAPTURE_LIMIT", "lots");
    let finished = finish(&mut command);
    for wanted in ["VKFUSE_CAPTURE_CONTENTS=after is left out", "VKFUSE_CAPTURE_LIMIT=lots is left out"] {
        assert!(finished.stderr.contains(wanted), "{wanted}: {}", finished.stderr);
    }
}

/// Of the tools of the Vulkan SDK, where they are installed.
#[test]
fn vulkaninfo_says_the_same() {
    let plain = Command::new("vulkaninfo").arg("--summary").output();
    let Some(plain) = plain.ok().filter(|output| output.status.success()) else {
        eprintln!("SKIPPED vulkaninfo is not installed");
        return;
    };
    let (_kept, folder) = folder();
    let captured = command().args(["capture", "--to", &folder, "--", "vulkaninfo", "--summary"]).output();
    let captured = captured.expect("it starts");
    let lines = |output: &[u8]| {
        let text = String::from_utf8_lossy(output).into_owned();
        // The layer itself is among those that it lists, in columns as wide as they have to be.
        let lines = text.lines().filter(|line| !line.contains(LAYER) && !line.starts_with("Instance Layers"));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert!(captured.status.success());
    assert_eq!(lines(&captured.stdout), lines(&plain.stdout));
}
