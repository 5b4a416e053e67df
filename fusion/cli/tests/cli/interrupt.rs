//! Ctrl-C: the command ends with status 130, and has printed what it did until then.

use crate::process::{command, example, has_device};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts the command with what it logs on the standard error.
fn start(arguments: &[&str], cache: &Path) -> Child {
    let mut command = command();
    command.args(arguments).arg("--cache-dir").arg(cache).env("VKFUSE_LOG", "vkfuse=debug");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Waits until a line of what it writes has this text. The rest is read by somebody else, so that it is not held up.
fn wait_for(from: impl Read + Send + 'static, text: &'static str) {
    let mut lines = BufReader::new(from).lines();
    assert!(
        lines.by_ref().any(|line| line.expect("UTF-8").contains(text)),
        "it ended without having said {text:?}"
    );
    std::thread::spawn(move || lines.for_each(drop));
}

fn press(child: &Child) {
    let status =
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(status.success());
}

/// What it printed, once it has ended.
fn end(mut child: Child) -> String {
    let mut said = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut said).expect("UTF-8");
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{said}");
    said
}

/// Presses Ctrl-C as soon as the command listens.
fn pressed(arguments: &[&str], cache: &Path) -> String {
    let mut child = start(arguments, cache);
    wait_for(child.stderr.take().expect("piped"), "Ctrl-C is listened for");
    press(&child);
    end(child)
}

#[test]
fn check_says_where_it_stopped() {
    let folder = tempfile::tempdir().expect("temporary folder");
    std::fs::write(
        folder.path().join("slow.wgsl"),
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
         @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
             for (var i = 0u; i < 4000u; i++) { x[id.x] = x[id.x] * 3u + i; }
         }",
    )
    .expect("it is written");
    let list = folder.path().join("slow.toml");
    std::fs::write(
        &list,
        "format = 1\n[kernels.slow]\npath = \"slow.wgsl\"\n[buffers.x]\ntype = \"u32\"\nlen = 65536\ninit = \"random\"\n\
         [[submit]]\nkernel = \"slow\"\ngroups = [1024]\nargs = { 0 = \"x\" }\n",
    )
    .expect("it is written");
    let list = list.to_str().expect("UTF-8");
    let mut child = {
        let mut command = command();
        command.args(["check", list, "--max-steps", "1000000000000"]).env("VKFUSE_LOG", "vkfuse=debug");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    wait_for(child.stderr.take().expect("piped"), "Ctrl-C is listened for");
    press(&child);
    let said = end(child);
    assert!(said.contains("stopped in submission 0"), "{said}");
    assert!(said.contains("nothing found"), "{said}");
}

#[test]
fn bench_keeps_the_lists_that_it_has_timed() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("temporary folder");
    let page = folder.path().join("page.html");
    let file = example("reverse_split.toml");
    let mut arguments = vec!["bench", "--iters", "2", "--html", page.to_str().expect("UTF-8")];
    arguments.extend([file.as_str(); 200]);
    let mut child = start(&arguments, folder.path());
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let errors = child.stderr.take().expect("piped");
    std::thread::spawn(move || BufReader::new(errors).lines().for_each(drop));
    let first = lines.next().expect("a line").expect("UTF-8");
    assert!(first.contains("medians of 2 runs"), "{first}");
    press(&child);
    let timed = 1 + lines.filter(|line| line.as_ref().expect("UTF-8").contains("medians of")).count();
    end(child);
    assert!(timed < 200, "{timed}");
    let text = std::fs::read_to_string(&page).expect("the page is written");
    assert_eq!(text.matches("<circle").count(), timed);
}

#[test]
fn warm_and_verify_say_what_they_did() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("temporary folder");
    let file = example("chain.toml");
    let mut arguments = vec!["cache", "warm", "--jobs", "1"];
    arguments.extend([file.as_str(); 2000]);
    let said = pressed(&arguments, folder.path());
    assert!(said.contains("stored now"), "{said}");
    let arguments: Vec<&str> =
        arguments.iter().map(|word| if *word == "warm" { "verify" } else { word }).collect();
    let said = pressed(&arguments, folder.path());
    assert!(said.contains("entries checked, 0 damaged"), "{said}");
}

/// A loop that does not end is stopped inside of its work-group, and what was found before it is printed.
#[test]
fn check_stops_inside_of_a_submission() {
    let folder = tempfile::tempdir().expect("temporary folder");
    std::fs::write(
        folder.path().join("endless.wgsl"),
        "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
         @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
             x[id.x + 64u] = 1.0;
             loop { if x[id.x] < -1.0 { break; } x[id.x] = x[id.x] + 1.0; }
         }",
    )
    .expect("it is written");
    let list = folder.path().join("endless.toml");
    std::fs::write(
        &list,
        "format = 1\nkernels.k.path = \"endless.wgsl\"\nbuffers.x = { type = \"f32\", len = 64, init = \"iota\" }\n\
         [[submit]]\nkernel = \"k\"\ngroups = [1]\nargs = { 0 = \"x\" }\n",
    )
    .expect("it is written");
    let mut command = command();
    // Without an answer to Ctrl-C it is given up, with another status.
    command.args(["check", list.to_str().expect("UTF-8"), "--max-steps", "4G"]);
    command.env("VKFUSE_LOG", "vkfuse=debug").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    wait_for(child.stderr.take().expect("piped"), "Ctrl-C is listened for");
    std::thread::sleep(std::time::Duration::from_millis(300));
    press(&child);
    let said = end(child);
    assert!(said.contains("stopped in submission 0") && said.contains("out of bounds"), "{said}");
}
