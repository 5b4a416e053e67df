//! Ctrl-C. The first asks a command that listens to end where it can, with what it has done so far; the second ends the process.

use crate::stop::Status;
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

static IS_ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on Ctrl-C asks instead of ending the process. Where that cannot be had it does as before.
pub(crate) fn listen() {
    let status = i32::from(Status::Interrupted.number());
    // In this order: the first Ctrl-C finds nothing that was asked before.
    let second = flag::register_conditional_shutdown(SIGINT, status, IS_ASKED.clone());
    if let Err(error) = second.and_then(|_| flag::register(SIGINT, IS_ASKED.clone())) {
        tracing::debug!(%error, "Ctrl-C ends the process at once");
    } else {
        tracing::debug!("Ctrl-C is listened for");
    }
}

/// Whether Ctrl-C was pressed.
pub(crate) fn is_asked() -> bool {
    IS_ASKED.load(Relaxed)
}

/// The status of a command, or that it was interrupted if Ctrl-C was pressed.
pub(crate) fn unless_asked(status: Status) -> Status {
    if is_asked() { Status::Interrupted } else { status }
}
