//! Runs a program under a layer.
//!
//! The layers' library lies beside the command, or where an installation puts it. A manifest that names it is written into a
//! folder, of the capture if there is one, and the loader is sent there.

use super::program;
use crate::args::CaptureArgs;
use crate::stop::{Status, Stop};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The layer's library.
const LIBRARY: &str = "libvkfuse_layer.so";

/// From the folder of the command, where the library may be: a build of Cargo's, or an installation.
const PLACES: [&str; 3] = ["deps", "", "../lib"];

/// Runs the program and says on the standard error what was captured; its exit status is the command's.
pub(crate) fn launch(args: &CaptureArgs) -> Result<Status, Stop> {
    let [program, arguments @ ..] = &args.program[..] else {
        return Err(Stop::wrong("expected a program: vkfuse capture -- PROGRAM ARGUMENTS"));
    };
    let wrong = |what: &str, error: std::io::Error| Stop::wrong(format!("{what}: {error}"));
    let folder = std::path::absolute(&args.to).map_err(|error| wrong("the folder of the capture", error))?;
    if vkfuse_layer::trace::files(&folder).is_ok_and(|files| !files.is_empty()) {
        return Err(Stop::wrong(format!("{} holds a capture already", folder.display())));
    }
    let path = folder.join("layer");
    let layer = (vkfuse_layer::NAME, vkfuse_layer::MANIFEST);
    let mut command = under(layer, &path, program)?;
    command.args(arguments).env(vkfuse_layer::FOLDER, &folder);
    command.env(vkfuse_layer::CONTENTS, args.contents.name());
    if let Some(limit) = args.limit {
        command.env(vkfuse_layer::LIMIT, limit.to_string());
    }
    let ended =
        command.status().map_err(|error| wrong(&format!("cannot run {}", program.display()), error))?;
    // The program's output is its own.
    let mut out = std::io::stderr();
    match program::read(&folder) {
        Ok(captured) => writeln!(out, "{}", captured.summary(&folder)),
        Err(stop) => writeln!(out, "vkfuse: {}", stop.message),
    }
    .map_err(Stop::from)?;
    status(program, ended)
}

/// The exit status of a program as the command's.
pub(crate) fn status(program: &OsStr, ended: ExitStatus) -> Result<Status, Stop> {
    match ended.code() {
        Some(0) => Ok(Status::Success),
        Some(code) => Ok(Status::Program(code as u8)),
        None => Err(Stop::wrong(format!("{}: {ended}", program.display()))),
    }
}

/// A program under a layer, by its name and manifest, which is written into a folder.
pub(crate) fn under((name, text): (&str, &str), folder: &Path, program: &OsStr) -> Result<Command, Stop> {
    let manifest = manifest(text, &library()?);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(folder.join(format!("{name}.json")), manifest))
        .map_err(|error| Stop::wrong(format!("cannot write {}: {error}", folder.display())))?;
    let mut command = Command::new(program);
    for (name, value) in loader(folder, name, |name| std::env::var_os(name)) {
        command.env(name, value);
    }
    Ok(command)
}

/// The library, where it is.
fn library() -> Result<PathBuf, Stop> {
    let own = std::env::current_exe().and_then(|own| own.canonicalize()).unwrap_or_default();
    let folder = own.parent().unwrap_or(Path::new(""));
    let mut places = PLACES.iter().map(|place| folder.join(place).join(LIBRARY));
    let found = places.find(|place| place.exists());
    found.and_then(|found| found.canonicalize().ok()).ok_or_else(|| {
        Stop::wrong(format!(
            "{LIBRARY} is neither in {} nor in ../lib beside it: `cargo build --release -p vkfuse-layer` makes it in target/release, from where \
             it is to be copied",
            folder.display()
        ))
    })
}

/// A layer's manifest, with the library by its whole path.
fn manifest(text: &str, library: &Path) -> String {
    let path = serde_json::Value::from(library.display().to_string()).to_string();
    text.replace(&format!("\"./{LIBRARY}\""), &path)
}

/// The variables that send the loader to a folder with the layer's manifest, before what is asked for already.
fn loader(
    folder: &Path,
    layer: &str,
    set: impl Fn(&str) -> Option<OsString>,
) -> Vec<(&'static str, OsString)> {
    let before = |own: &OsStr, name: &'static str| {
        let mut value = own.to_owned();
        if let Some(old) = set(name).filter(|old| !old.is_empty()) {
            value.push(":");
            value.push(old);
        }
        (name, value)
    };
    // The folders of `VK_LAYER_PATH` are instead of all others, and those of the other variable beside them.
    let paths = if set("VK_LAYER_PATH").is_some() { "VK_LAYER_PATH" } else { "VK_ADD_LAYER_PATH" };
    vec![before(folder.as_os_str(), paths), before(OsStr::new(layer), "VK_INSTANCE_LAYERS")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_of_the_loader_already_stays() {
        let folder = Path::new("/capture");
        let none = loader(folder, vkfuse_layer::NAME, |_| None);
        assert_eq!(none[0], ("VK_ADD_LAYER_PATH", OsString::from("/capture")));
        let some = loader(folder, vkfuse_layer::NAME, |name| match name {
            "VK_LAYER_PATH" => Some(OsString::from("/own")),
            "VK_INSTANCE_LAYERS" => Some(OsString::from("VK_LAYER_other")),
            _ => None,
        });
        let layers = format!("{}:VK_LAYER_other", vkfuse_layer::NAME);
        assert_eq!(some[0], ("VK_LAYER_PATH", OsString::from("/capture:/own")));
        assert_eq!(some[1], ("VK_INSTANCE_LAYERS", OsString::from(layers)));
    }

    #[test]
    fn the_manifest_names_the_library() {
        let text = manifest(vkfuse_layer::MANIFEST, Path::new("/a \"b\"/libvkfuse_layer.so"));
        let parsed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(parsed["layer"]["library_path"], "/a \"b\"/libvkfuse_layer.so");
        assert_eq!(parsed["layer"]["name"], vkfuse_layer::NAME);
    }
}
