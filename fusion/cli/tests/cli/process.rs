//! Runs the built command.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a run of the command left behind.
pub(crate) struct Finished {
    /// Exit status.
    pub(crate) status: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_owned()
}

/// The command with nothing of this process's settings that would change what it does.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vkfuse"));
    for name in ["VKFUSE_LOG", "RUST_LOG", "VKFUSE_DUMP_SPIRV", "VKFUSE_PROFILING"] {
        command.env_remove(name);
    }
    command
}

/// Runs `command` to its end.
pub(crate) fn finish(command: &mut Command) -> Finished {
    let output = command.output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("the command prints UTF-8");
    Finished {
        status: output.status.code().expect("the command exits and is not killed"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Runs the command with these arguments.
pub(crate) fn vkfuse(args: &[&str]) -> Finished {
    finish(command().args(args))
}

/// Whether there is a Vulkan device. Without one the test that asks is skipped, which is written
/// past the test harness's capture; with `VKFUSE_REQUIRE_DEVICE` set, as in CI, it fails.
pub(crate) fn has_device() -> bool {
    let finished = vkfuse(&["devices"]);
    if finished.status == 0 {
        return true;
    }
    let test = std::thread::current().name().unwrap_or("?").to_owned();
    assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device for {test}: {}", finished.stderr);
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {}", finished.stderr);
    false
}

/// A pipeline file of `examples/pipelines`.
pub(crate) fn example(name: &str) -> String {
    root().join("examples/pipelines").join(name).display().to_string()
}

/// Runs the command with `--json` and returns its exit status and its object.
pub(crate) fn json(args: &[&str]) -> (i32, Value) {
    let finished = finish(command().args(args).arg("--json"));
    match serde_json::from_str(&finished.stdout) {
        Ok(value) => (finished.status, value),
        Err(error) => panic!("{error}\n{}\n{}", finished.stdout, finished.stderr),
    }
}

/// An example with some text replaced, as a file of its own in `folder`.
pub(crate) fn changed(folder: &Path, name: &str, from: &str, to: &str) -> String {
    let text = std::fs::read_to_string(example(name)).expect("the example is there");
    let shaders = root().join("shaders").display().to_string();
    assert!(text.contains(from), "{from} is not in {name}");
    let file = folder.join(name);
    std::fs::write(&file, text.replace(from, to).replace("../../shaders", &shaders))
        .expect("the folder can be written");
    file.display().to_string()
}
