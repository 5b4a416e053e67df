//! Which of the two layers of the library is in use: one of a process.

use crate::chain::{Negotiation, negotiate};
use ash::vk;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

const NONE: u8 = 0;
const CAPTURES: u8 = 1;
const FUSES: u8 = 2;

static ROLE: AtomicU8 = AtomicU8::new(NONE);

/// Whether it is the layer that fuses.
pub(crate) fn fuses() -> bool {
    ROLE.load(Ordering::Relaxed) == FUSES
}

/// Takes a role, if it is not the other one already.
fn take(role: u8) -> bool {
    let before = ROLE.compare_exchange(NONE, role, Ordering::Relaxed, Ordering::Relaxed);
    let taken = before.is_ok() || before == Err(role);
    if !taken {
        let _ =
            writeln!(std::io::stderr(), "vkfuse: a process has either the capturing layer or the fusing one");
    }
    taken
}

/// The entry of the layer that captures.
///
/// # Safety
/// Called by the loader, with a structure of its own.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "system" fn vkNegotiateLoaderLayerInterfaceVersion(asked: *mut Negotiation) -> vk::Result {
    if !take(CAPTURES) {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    }
    // SAFETY: the caller's promise.
    unsafe { negotiate(asked) }
}

/// The entry of the layer that fuses.
///
/// # Safety
/// Called by the loader, with a structure of its own.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "system" fn vkfuseNegotiateFuse(asked: *mut Negotiation) -> vk::Result {
    if !take(FUSES) {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    }
    if let Some(file) = std::env::var_os(crate::LOADED) {
        // Whether it is there is all that is asked of it.
        let _ = std::fs::File::create(file);
    }
    // SAFETY: the caller's promise.
    unsafe { negotiate(asked) }
}
