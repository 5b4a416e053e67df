//! Completions for shells and pages of the manual, both made of the command line's description.

use crate::args::CommandLine;
use crate::stop::{Status, Stop};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::path::Path;

/// Prints what a shell reads to complete the command.
pub(crate) fn completions(shell: Shell, out: &mut dyn Write) -> Result<Status, Stop> {
    // The generator panics where its output cannot be written, as to a pipe that was closed.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "vkfuse", &mut text);
    out.write_all(&text)?;
    Ok(Status::Success)
}

/// Writes `vkfuse.1`, `vkfuse-run.1` and so on.
pub(crate) fn pages(folder: &Path) -> Result<Status, Stop> {
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(CommandLine::command(), folder));
    written.map_err(|error| {
        Stop::wrong(format!("cannot write the manual into {}: {error}", folder.display()))
    })?;
    Ok(Status::Success)
}
