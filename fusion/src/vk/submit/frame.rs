//! Command buffer and descriptor pool of one submission in flight.
//!
//! A frame is owned by one thing at a time: the thread that records it, the queue's list while it is pending, or the
//! queue's list of idle ones. That ownership is the external synchronisation that Vulkan asks of command and
//! descriptor pools, so no lock is held while commands are recorded.
//!
//! What was recorded of a template stays in the frame when it is idle, without anything that keeps its pipelines or memory alive. Who wants the same
//! template finds it by its tag, and only has its sets written (`sets`); a template that is gone is never asked for again, and its recordings
//! are recorded over.

use std::{ptr, sync::Arc};

use ash::vk;
use vulkano::{VulkanObject, device::Device};

use crate::vk::{
    DeviceError,
    check::Needs,
    command_buffer::CommandBuffer,
    gpu::GpuInner,
    passed::Passed,
    record::recorder::{Ranges, Surroundings, Usage, record, rewrite},
    stats::{Alive, Recorded},
    template::{Recordable, Wanted},
};

/// The reusable part of a submission.
#[derive(Debug)]
pub(in crate::vk) struct Frame {
    pub(in crate::vk) command_buffer: CommandBuffer,
    pool: vk::CommandPool,
    device: Arc<Device>,
    _alive: Alive,
}

/// Makes a command pool for queues of a family.
pub(in crate::vk) fn command_pool(
    gpu: &GpuInner,
    family: u32,
    flags: vk::CommandPoolCreateFlags,
) -> Result<vk::CommandPool, DeviceError> {
    let info = vk::CommandPoolCreateInfo::default().flags(flags).queue_family_index(family);
    let mut pool = vk::CommandPool::null();
    let create = gpu.device.fns().v1_0.create_command_pool;
    // SAFETY: the device is alive, `info` outlives the call, the family is one the device has queues of.
    let result = unsafe { create(gpu.device.handle(), &info, ptr::null(), &mut pool) };
    gpu.ok("vkCreateCommandPool", result)?;
    Ok(pool)
}

/// Destroys a command pool with its command buffers.
///
/// # Safety
///
/// No one uses the pool, and none of its command buffers is pending, or the device is lost.
pub(in crate::vk) unsafe fn destroy_command_pool(device: &Device, pool: vk::CommandPool) {
    // SAFETY: the caller's promise; destroying stays legal on a lost device.
    unsafe { (device.fns().v1_0.destroy_command_pool)(device.handle(), pool, ptr::null()) };
}

impl Frame {
    /// Makes an empty frame for queues of a family.
    pub(in crate::vk) fn new(gpu: &GpuInner, family: u32) -> Result<Frame, DeviceError> {
        let pool = command_pool(gpu, family, vk::CommandPoolCreateFlags::TRANSIENT)?;
        // SAFETY: the pool was just made and no one else knows it.
        let command_buffer = unsafe { CommandBuffer::new(gpu, pool) }.inspect_err(|_| {
            // SAFETY: the same, and it has no command buffer.
            unsafe { destroy_command_pool(&gpu.device, pool) }
        })?;
        let (device, _alive) = (gpu.device.clone(), gpu.counters.live_frames.one_more());
        Ok(Frame { command_buffer, pool, device, _alive })
    }

    /// Which recording it has that can be submitted again, as [`Wanted::tag`]; 0 for none.
    pub(in crate::vk) fn tag(&self) -> u64 {
        self.command_buffer.recording.as_ref().map_or(0, |recording| recording.tag)
    }

    /// Makes the frame's commands these, with what a template's bindings are and the buffers of arguments that they need: what is wanted may be what was recorded here
    /// before, and then only gets its memories. All is checked, and the frame is not pending.
    pub(in crate::vk) fn take_on(
        &mut self,
        gpu: &GpuInner,
        (what, ranges, passed, wanted): (Recordable<'_>, &Ranges, Passed, Option<Wanted<'_>>),
        (needs, around): (Needs, Surroundings),
    ) -> Result<Recorded, DeviceError> {
        let Some(wanted) = wanted else {
            self.prepare(gpu, needs)?;
            return record(gpu, &mut self.command_buffer, (what, ranges, passed), around);
        };
        let CommandBuffer { sets, recording, .. } = &mut self.command_buffer;
        if let (Recordable::Template(played, _), Some(recording)) = (&what, &*recording)
            && wanted.is(recording)
        {
            rewrite(gpu, sets, (*played, ranges, &passed))?;
            let again = Recorded { recordings: 0, ..recording.counts };
            self.command_buffer.keep(what, passed);
            return Ok(again);
        }
        self.prepare(gpu, needs)?;
        let around = Surroundings { usage: Usage::Again, ..around };
        let recorded = record(gpu, &mut self.command_buffer, (what, ranges, passed), around)?;
        self.command_buffer.recording = Some(wanted.recorded(recorded));
        Ok(recorded)
    }

    /// Makes the frame ready to be recorded: pools reset and large enough. The frame is not pending.
    fn prepare(&mut self, gpu: &GpuInner, needs: Needs) -> Result<(), DeviceError> {
        self.command_buffer.release();
        let fns = &self.device.fns().v1_0;
        // SAFETY: the frame is owned here and not pending, so its command buffer is not either.
        let result = unsafe {
            (fns.reset_command_pool)(self.device.handle(), self.pool, vk::CommandPoolResetFlags::empty())
        };
        gpu.ok("vkResetCommandPool", result)?;
        self.command_buffer.prepare(gpu, needs)
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: a frame is dropped only when it is not pending, or when the device is lost, where destroying stays
        // legal; the pool is the frame's own.
        unsafe { destroy_command_pool(&self.device, self.pool) };
    }
}
