//! Submissions and waits.
//!
//! # Safety
//! Called as the specification of the Vulkan functions says.
#![allow(unsafe_op_in_unsafe_fn)]

use super::creation::{UNREACHED, made};
use crate::chain::{Device, chained, device_of};
use crate::contents;
use crate::descriptors::slice;
use crate::fuse;
use crate::role;
use crate::sink::{self, noted};
use crate::submission::{self, Given};
use ash::vk::{self, Handle};

pub(super) unsafe extern "system" fn queue_submit(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let Some(known) = device_of(queue) else { return UNREACHED };
    let Some(next) = known.next.queue_submit else { return UNREACHED };
    let count_buffers =
        || slice(submits, count).iter().map(|batch| u64::from(batch.command_buffer_count)).sum();
    if known.gate.is_closed() && fuse::passes(&known, count_buffers) {
        return next(queue, count, submits, fence);
    }
    let (mut taken, mut stands) = (None, None);
    noted("vkQueueSubmit", || {
        let has = |batch: &vk::SubmitInfo<'_>, kind| {
            chained::<vk::BaseInStructure<'_>>(batch.p_next, kind).is_some()
        };
        let batches = slice(submits, count).iter().map(|batch| Given {
            buffers: slice(batch.p_command_buffers, batch.command_buffer_count).to_vec(),
            waits: batch.wait_semaphore_count as usize,
            signals: batch.signal_semaphore_count as usize,
            is_plain: !has(batch, vk::StructureType::DEVICE_GROUP_SUBMIT_INFO)
                && !has(batch, vk::StructureType::PROTECTED_SUBMIT_INFO),
        });
        let batches: Vec<Given> = batches.collect();
        if role::fuses() {
            stands = fuse::submit(&known, queue, &batches);
        } else {
            taken = submission::submit(&known, "vkQueueSubmit", queue, batches, !fence.is_null());
        }
    });
    if let Some(stands) = &stands {
        let mut own = slice(submits, count).to_vec();
        let buffers: Vec<Vec<vk::CommandBuffer>> =
            stands.iter().map(|batch| batch.iter().map(|(_, buffer)| *buffer).collect()).collect();
        for (batch, buffers) in own.iter_mut().zip(&buffers) {
            batch.command_buffer_count = buffers.len() as u32;
            batch.p_command_buffers = buffers.as_ptr();
        }
        return next(queue, count, own.as_ptr(), fence);
    }
    let Some(taken) = taken else { return next(queue, count, submits, fence) };
    let mut own = slice(submits, count).to_vec();
    for (batch, buffers) in own.iter_mut().zip(taken.buffers()) {
        batch.command_buffer_count = buffers.len() as u32;
        batch.p_command_buffers = buffers.as_ptr();
    }
    let result = next(queue, count, own.as_ptr(), fence);
    noted("vkQueueSubmit", || contents::submitted(&known, queue, taken, result));
    result
}

pub(super) unsafe extern "system" fn queue_submit2(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let Some(known) = device_of(queue) else { return UNREACHED };
    let Some(next) = known.next.queue_submit2 else { return UNREACHED };
    let count_buffers =
        || slice(submits, count).iter().map(|batch| u64::from(batch.command_buffer_info_count)).sum();
    if known.gate.is_closed() && fuse::passes(&known, count_buffers) {
        return next(queue, count, submits, fence);
    }
    let (mut taken, mut stands) = (None, None);
    noted("vkQueueSubmit2", || {
        let batches = slice(submits, count).iter().map(|batch| {
            let buffers = slice(batch.p_command_buffer_infos, batch.command_buffer_info_count).iter();
            Given {
                buffers: buffers.map(|info| info.command_buffer).collect(),
                waits: batch.wait_semaphore_info_count as usize,
                signals: batch.signal_semaphore_info_count as usize,
                is_plain: batch.flags.is_empty(),
            }
        });
        let batches: Vec<Given> = batches.collect();
        if role::fuses() {
            stands = fuse::submit(&known, queue, &batches);
        } else {
            taken = submission::submit(&known, "vkQueueSubmit2", queue, batches, !fence.is_null());
        }
    });
    if let Some(stands) = &stands {
        let mut own = slice(submits, count).to_vec();
        let infos: Vec<Vec<vk::CommandBufferSubmitInfo<'_>>> = own
            .iter()
            .zip(stands)
            .map(|(batch, buffers)| {
                let given = slice(batch.p_command_buffer_infos, batch.command_buffer_info_count);
                let info = |(of, buffer): &(Option<usize>, vk::CommandBuffer)| {
                    let same = of.and_then(|of| given.get(of)).copied();
                    same.unwrap_or_default().command_buffer(*buffer)
                };
                buffers.iter().map(info).collect()
            })
            .collect();
        for (batch, infos) in own.iter_mut().zip(&infos) {
            batch.command_buffer_info_count = infos.len() as u32;
            batch.p_command_buffer_infos = infos.as_ptr();
        }
        return next(queue, count, own.as_ptr(), fence);
    }
    let Some(taken) = taken else { return next(queue, count, submits, fence) };
    let mut own = slice(submits, count).to_vec();
    let infos: Vec<Vec<vk::CommandBufferSubmitInfo<'_>>> = own
        .iter()
        .zip(taken.buffers())
        .map(|(batch, buffers)| {
            let given = slice(batch.p_command_buffer_infos, batch.command_buffer_info_count);
            let info = |buffer: &vk::CommandBuffer| {
                let same = given.iter().find(|info| info.command_buffer == *buffer).copied();
                same.unwrap_or_else(|| vk::CommandBufferSubmitInfo::default().command_buffer(*buffer))
            };
            buffers.iter().map(info).collect()
        })
        .collect();
    for (batch, infos) in own.iter_mut().zip(&infos) {
        batch.command_buffer_info_count = infos.len() as u32;
        batch.p_command_buffer_infos = infos.as_ptr();
    }
    let result = next(queue, count, own.as_ptr(), fence);
    noted("vkQueueSubmit2", || contents::submitted(&known, queue, taken, result));
    result
}

pub(super) unsafe extern "system" fn queue_bind_sparse(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::BindSparseInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    made!("vkQueueBindSparse", queue.queue_bind_sparse(count, infos, fence), |_known| {
        sink::missing("vkQueueBindSparse", "where buffers are in memory");
    })
}

fn waited(device: &Device, call: &'static str, result: vk::Result) {
    if role::fuses() {
        return;
    }
    contents::finish(device, false);
    sink::waited(call, result.as_raw());
}

/// Functions that wait, or ask.
macro_rules! waits {
    ($($name:literal $hook:ident($on:ident: $of:ty $(, $arg:ident: $kind:ty)*);)*) => {$(
        pub(super) unsafe extern "system" fn $hook($on: $of, $($arg: $kind),*) -> vk::Result {
            let Some(known) = device_of($on) else { return UNREACHED };
            let Some(next) = known.next.$hook else { return UNREACHED };
            let result = next($on, $($arg),*);
            noted($name, || waited(&known, $name, result));
            result
        }
    )*};
}

waits! {
    "vkQueueWaitIdle" queue_wait_idle(queue: vk::Queue);
    "vkDeviceWaitIdle" device_wait_idle(device: vk::Device);
    "vkWaitForFences" wait_for_fences(
        device: vk::Device, count: u32, fences: *const vk::Fence, all: vk::Bool32, timeout: u64
    );
    "vkGetFenceStatus" get_fence_status(device: vk::Device, fence: vk::Fence);
    "vkWaitSemaphores" wait_semaphores(
        device: vk::Device, info: *const vk::SemaphoreWaitInfo<'_>, timeout: u64
    );
    "vkGetSemaphoreCounterValue" get_semaphore_counter_value(
        device: vk::Device, semaphore: vk::Semaphore, value: *mut u64
    );
    "vkSignalSemaphore" signal_semaphore(device: vk::Device, info: *const vk::SemaphoreSignalInfo<'_>);
}
