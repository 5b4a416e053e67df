//! `vkfuse capture`: what a program that exists submits, and what fusing it would gain.
//!
//! | module | does |
//! |---|---|
//! | `launch` | runs a program under the layer |
//! | `program` | reads what the layer wrote: objects, and the sections of submissions in order |
//! | `kernels` | what modules read and write, with the program's constants |
//! | `memory` | pieces of memory, and what was in them |
//! | `liveness` | which values are seen dead |
//! | `lists`, `file` | sections as pipeline files |
//! | `report`, `page` | what fusing these lists comes to |

mod file;
mod kernels;
pub(crate) mod launch;
mod lists;
mod liveness;
mod memory;
mod page;
mod program;
mod report;

use crate::args::{CaptureAction, CaptureArgs};
use crate::stop::{Status, Stop};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs a program under the layer, or looks into what it wrote.
pub(crate) fn capture(args: &CaptureArgs, out: &mut dyn Write) -> Result<Status, Stop> {
    match &args.action {
        None => launch::launch(args),
        Some(CaptureAction::ToLists { folder, to, json }) => {
            let written = lists::write(&program::read(folder)?, &target(folder, to.as_deref()))?;
            lists::print(&written, *json, out)?;
            Ok(Status::Success)
        }
        Some(CaptureAction::Report(args)) => report::report(args, out),
    }
}

/// Where the lists of a capture go.
fn target(folder: &Path, to: Option<&Path>) -> PathBuf {
    to.map_or_else(|| folder.join("lists"), Path::to_owned)
}
