//! `vkfuse fuse`: a program that exists, with fused kernels in place of its own.

use crate::args::FuseArgs;
use crate::capture::launch::{status, under};
use crate::stop::{Status, Stop};
use std::io::Write;

/// Runs a program under the layer; its exit status is the command's.
pub(crate) fn fuse(args: &FuseArgs) -> Result<Status, Stop> {
    let [program, arguments @ ..] = &args.program[..] else {
        return Err(Stop::wrong("expected a program: vkfuse fuse -- PROGRAM ARGUMENTS"));
    };
    let folder = std::env::temp_dir().join(format!("vkfuse-fuse-{}", std::process::id()));
    let words = [(args.report, "report"), (args.wait, "wait")];
    let words: Vec<&str> = words.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
    let mut command = under((vkfuse_layer::FUSE_NAME, vkfuse_layer::FUSE_MANIFEST), &folder, program)?;
    let loaded = folder.join("loaded");
    command.env(vkfuse_layer::FUSE, words.join(",")).env(vkfuse_layer::LOADED, &loaded);
    let ended = command.args(arguments).status();
    let is_loaded = loaded.exists();
    // What is left there is a file of a few lines.
    let _ = std::fs::remove_dir_all(&folder);
    let ended = ended.map_err(|error| Stop::wrong(format!("cannot run {}: {error}", program.display())))?;
    if args.report && !is_loaded {
        writeln!(std::io::stderr(), "vkfuse: {} made no Vulkan instance", program.display())?;
    }
    status(program, ended)
}
