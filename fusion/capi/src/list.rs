//! Kept lists.

use std::sync::Arc;

use ash::vk;
use vkfuse::{RawCommandBuffer, Rebind, Scope};

use crate::{
    VkfuseBuffer, VkfuseEvent, VkfuseList, VkfuseRecorded,
    argument::{place, put, several, several_mut, structure},
    result::{Failure, VkfuseResult, call},
};

/// Where a list is recorded to.
///
/// The command buffer is being recorded, outside of a render pass, and is for queues that can compute. What comes before and
/// after the list is stated here, and a barrier is recorded for it; or both masks are 0, and the program records its own barrier: a
/// list reads and writes in the compute stage, with the accesses `SHADER_READ`, `SHADER_WRITE` and `UNIFORM_READ`. Afterwards compute
/// pipeline, descriptor sets and push constants are to be bound again.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseRecording {
    /// The command buffer.
    pub command_buffer: vk::CommandBuffer,
    /// Stages of what comes before.
    pub before_stages: vk::PipelineStageFlags2,
    /// And its accesses.
    pub before_accesses: vk::AccessFlags2,
    /// Stages of what comes after.
    pub after_stages: vk::PipelineStageFlags2,
    /// And its accesses.
    pub after_accesses: vk::AccessFlags2,
}

/// Runs the list again. `event` may be null.
///
/// # Safety
///
/// The pointer is null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_list_run(list: VkfuseList, event: *mut VkfuseEvent) -> VkfuseResult {
    call(|| {
        if !event.is_null() {
            place("event", event)?;
        }
        let done = list.get()?.run()?;
        if event.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { put("event", event, VkfuseEvent::of(done)) }
    })
}

/// The buffers and push constants in which a list is to differ from another.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseChanges {
    /// Buffers of the list.
    pub of: *const VkfuseBuffer,
    /// Each takes the place of the one of `of` at the same place.
    pub with: *const VkfuseBuffer,
    /// How many there are of both.
    pub buffer_count: u32,
    /// Other push constants.
    pub pushes: *const VkfusePush,
    /// How many of them.
    pub push_count: u32,
}

/// Other push constants of a submission.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfusePush {
    /// The submission, by its place in the list, from 0.
    pub submission: u32,
    /// The whole block.
    pub bytes: *const std::ffi::c_void,
    /// How many bytes it has.
    pub size: u32,
}

/// Does something with a list and changes to it.
///
/// # Safety
///
/// The pointer is null or to what the header says, and so are those in it.
unsafe fn changed(
    list: VkfuseList,
    changes: *const VkfuseChanges,
    done: impl FnOnce(Rebind<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let list = list.get()?;
    // SAFETY: the caller's promise.
    let VkfuseChanges { of, with, buffer_count, pushes, push_count } =
        *unsafe { structure("changes", changes)? };
    let count = buffer_count as usize;
    // SAFETY: the caller's promise.
    let (of, with) = unsafe { (several("of", of, count)?, several("with", with, count)?) };
    // SAFETY: the caller's promise.
    let pushes = unsafe { several("pushes", pushes, push_count as usize)? };
    let pairs = of.iter().zip(with).map(|(of, with)| Ok((of.get()?, with.get()?)));
    let pairs = pairs.collect::<Result<Vec<_>, Failure>>()?;
    let mut rebind = pairs.iter().fold(list.rebind(), |rebind, (of, with)| rebind.buffer(of, with));
    for push in pushes {
        // SAFETY: the caller's promise.
        let bytes = unsafe { several("bytes", push.bytes.cast::<u8>(), push.size as usize)? };
        rebind = rebind.push_bytes(push.submission as usize, bytes);
    }
    done(rebind)
}

/// Makes a list with other buffers and other push constants, to be run again and again.
///
/// # Safety
///
/// The pointers are null or to what the header says, and so are those in `changes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_list_rebind(
    list: VkfuseList,
    changes: *const VkfuseChanges,
    other: *mut VkfuseList,
) -> VkfuseResult {
    call(|| {
        place("other", other)?;
        // SAFETY: the caller's promise.
        unsafe { changed(list, changes, |rebind| put("other", other, VkfuseList::of(rebind.finish()?))) }
    })
}

/// Runs the list once with other buffers and other push constants, for less than a list of their own costs. `event` may be null.
///
/// # Safety
///
/// The pointers are null or to what the header says, and so are those in `changes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_list_run_with(
    list: VkfuseList,
    changes: *const VkfuseChanges,
    event: *mut VkfuseEvent,
) -> VkfuseResult {
    call(|| {
        if !event.is_null() {
            place("event", event)?;
        }
        // SAFETY: the caller's promise.
        unsafe {
            changed(list, changes, |rebind| {
                let done = rebind.run()?;
                if event.is_null() { Ok(()) } else { put("event", event, VkfuseEvent::of(done)) }
            })
        }
    })
}

/// Records the list into a command buffer of the program's. `recorded` keeps alive what the commands use: it is destroyed when no
/// execution of them is pending any more.
///
/// # Safety
///
/// The pointers are null or to what the header says, and the handle is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_list_record(
    list: VkfuseList,
    into: *const VkfuseRecording,
    recorded: *mut VkfuseRecorded,
) -> VkfuseResult {
    call(|| {
        place("recorded", recorded)?;
        let list = list.get()?;
        // SAFETY: the caller's promise.
        let given = unsafe { structure("into", into)? };
        // SAFETY: the caller's promise.
        let mut into = unsafe { RawCommandBuffer::recording(given.command_buffer) };
        if !given.before_stages.is_empty() {
            into = into.after(Scope { stages: given.before_stages, accesses: given.before_accesses });
        }
        if !given.after_stages.is_empty() {
            into = into.before(Scope { stages: given.after_stages, accesses: given.after_accesses });
        }
        let made = Arc::new(list.record(&into)?);
        // SAFETY: the caller's promise.
        unsafe { put("recorded", recorded, VkfuseRecorded::of(made)) }
    })
}

/// Work of vkfuse that was pending on the list's buffers as it was recorded: timeline semaphores with values, which the submission
/// that executes the list waits for. Writes at most `*count` of them, and to `*count` how many there are.
///
/// # Safety
///
/// The pointers are null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_recorded_waits(
    recorded: VkfuseRecorded,
    semaphores: *mut vk::Semaphore,
    values: *mut u64,
    count: *mut u32,
) -> VkfuseResult {
    call(|| {
        let recorded = recorded.get()?;
        // SAFETY: the caller's promise.
        let room = unsafe { *structure("count", count.cast_const())? } as usize;
        let waits = recorded.waits();
        let room = room.min(waits.len());
        // SAFETY: the caller's promise.
        let (semaphores, values) =
            unsafe { (several_mut("semaphores", semaphores, room)?, several_mut("values", values, room)?) };
        for (at, (semaphore, value)) in waits.iter().take(room).enumerate() {
            (semaphores[at], values[at]) = (*semaphore, *value);
        }
        // SAFETY: the caller's promise.
        unsafe { put("count", count, waits.len() as u32) }
    })
}

/// How many dispatches were recorded.
///
/// # Safety
///
/// The pointer is null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_recorded_dispatches(
    recorded: VkfuseRecorded,
    dispatches: *mut u32,
) -> VkfuseResult {
    call(|| {
        let count = recorded.get()?.dispatches() as u32;
        // SAFETY: the caller's promise.
        unsafe { put("dispatches", dispatches, count) }
    })
}

/// Lets go of what the commands use. None of their executions may be pending. Null is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_recorded_destroy(recorded: VkfuseRecorded) {
    call(|| {
        recorded.destroy();
        Ok(())
    });
}

/// Lets go of a list. Null is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_list_destroy(list: VkfuseList) {
    call(|| {
        list.destroy();
        Ok(())
    });
}
