//! Events.

use std::{ffi::c_char, time::Duration};

use ash::vk;
use vkfuse::Outcome;

use crate::{
    VkfuseEvent,
    argument::{put, several_mut},
    context::write_text,
    result::{Failure, VkfuseResult, call},
};

/// What became of a submission or of a list.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VkfuseOutcome {
    /// It is in a list that has not run.
    Pending = 0,
    /// It was submitted outside fusion mode.
    Unfused = 1,
    /// The whole list became one kernel.
    Fused = 2,
    /// The list became several kernels, at least one of them fused.
    Split = 3,
    /// Fusion mode ended before the list was completed; it ran unfused.
    Cancelled = 4,
    /// Nothing of it could be fused; it ran unfused.
    Refused = 5,
    /// It ran unfused because its code is being built.
    Building = 6,
    /// It did not run.
    Failed = 7,
}

/// Waits until the work is complete, or for so many nanoseconds: `VKFUSE_TIMEOUT` if it is not complete then. `UINT64_MAX` is
/// for ever. A list that is being recorded is cancelled.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_event_wait(event: VkfuseEvent, timeout_ns: u64) -> VkfuseResult {
    call(|| {
        let event = event.get()?;
        if timeout_ns == u64::MAX {
            return Ok(event.wait()?);
        }
        if event.wait_timeout(Duration::from_nanos(timeout_ns))? {
            Ok(())
        } else {
            Err(Failure::new(VkfuseResult::Timeout, "the work is not complete yet"))
        }
    })
}

/// What became of the work. Observes nothing.
///
/// # Safety
///
/// The pointer is null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_event_outcome(
    event: VkfuseEvent,
    outcome: *mut VkfuseOutcome,
) -> VkfuseResult {
    call(|| {
        let value = match event.get()?.outcome() {
            Outcome::Unfused => VkfuseOutcome::Unfused,
            Outcome::Fused => VkfuseOutcome::Fused,
            Outcome::Split => VkfuseOutcome::Split,
            Outcome::Cancelled { .. } => VkfuseOutcome::Cancelled,
            Outcome::Refused { .. } => VkfuseOutcome::Refused,
            Outcome::Building => VkfuseOutcome::Building,
            Outcome::Failed => VkfuseOutcome::Failed,
            _ => VkfuseOutcome::Pending,
        };
        // SAFETY: the caller's promise.
        unsafe { put("outcome", outcome, value) }
    })
}

/// What became of the work, in words, with the reason where it was refused: cut to `size` bytes with the zero at its end.
///
/// # Safety
///
/// The pointer is null or to as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_event_outcome_text(
    event: VkfuseEvent,
    text: *mut c_char,
    size: usize,
) -> VkfuseResult {
    call(|| {
        let event = event.get()?;
        // SAFETY: the caller's promise.
        write_text(unsafe { several_mut("text", text.cast::<u8>(), size)? }, &event.outcome().to_string());
        Ok(())
    })
}

/// How many dispatches a completed list became; 0 for what is no completed list.
///
/// # Safety
///
/// The pointer is null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_event_dispatches(event: VkfuseEvent, dispatches: *mut u32) -> VkfuseResult {
    call(|| {
        let count = event.get()?.report().map_or(0, |report| report.dispatches as u32);
        // SAFETY: the caller's promise.
        unsafe { put("dispatches", dispatches, count) }
    })
}

/// What happened to a completed list, as JSON with the fields of `vkfuse run --json`. `needed` is set to its bytes, with the zero at
/// its end, or to 0 for what is no completed list. Nothing is written to `text` if that is more than `size`: so call it first
/// with null and 0.
///
/// # Safety
///
/// The pointers are null or to as many bytes, and to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_event_report_json(
    event: VkfuseEvent,
    text: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> VkfuseResult {
    call(|| {
        let json = event.get()?.report().map(|report| report.to_json());
        let bytes = json.as_ref().map_or(0, |json| json.len() + 1);
        if let Some(json) = json.filter(|_| bytes <= size) {
            // SAFETY: the caller's promise.
            write_text(unsafe { several_mut("text", text.cast::<u8>(), size)? }, &json);
        }
        // SAFETY: the caller's promise.
        unsafe { put("needed", needed, bytes) }
    })
}

/// Nanoseconds that the work took on the device, of the whole list if it is in one. 0 before it is complete, and where profiling
/// is off (`VkfuseContextOptions`).
///
/// # Safety
///
/// The pointer is null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_event_gpu_time(event: VkfuseEvent, nanoseconds: *mut u64) -> VkfuseResult {
    call(|| {
        let time = event.get()?.gpu_time().unwrap_or_default();
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the caller's promise.
        unsafe { put("nanoseconds", nanoseconds, time) }
    })
}

/// A timeline semaphore of the context's and the value that it has once the work is complete, for the program's own submissions
/// to wait for. It lives as long as the context. Both are 0 where there is no work on the device.
///
/// # Safety
///
/// The pointers are null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_event_semaphore(
    event: VkfuseEvent,
    semaphore: *mut vk::Semaphore,
    value: *mut u64,
) -> VkfuseResult {
    call(|| {
        let (theirs, at) = event.get()?.semaphore()?.unwrap_or_default();
        // SAFETY: the caller's promise.
        unsafe {
            put("semaphore", semaphore, theirs)?;
            put("value", value, at)
        }
    })
}

/// Lets go of an event. Null is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_event_destroy(event: VkfuseEvent) {
    call(|| {
        event.destroy();
        Ok(())
    });
}
