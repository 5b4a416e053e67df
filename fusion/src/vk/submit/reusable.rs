//! Submissions that are recorded once and made as often as wanted.
//!
//! A reusable command buffer may be pending several times at once: its command buffer is recorded for simultaneous use. It changes nothing
//! about ordering. The barrier that it starts with is part of the recording, so anyone who needs different ones has a reusable command buffer
//! for each.

use std::sync::Arc;

use ash::vk;
use parking_lot::Mutex;
use vulkano::{VulkanObject, device::Device};

use crate::vk::{
    DeviceError, Gpu, GpuQueue,
    command_buffer::CommandBuffer,
    frame::{command_pool, destroy_command_pool},
    record::recorder::{Ranges, Surroundings, Usage, record},
    stats::Recorded,
    template::Recordable,
};

/// A recorded submission.
#[derive(Debug)]
pub(crate) struct ReusableCommands {
    command_buffer: CommandBuffer,
    pub(in crate::vk) counts: Recorded,
    /// Number of the context and of the queue it was recorded for.
    gpu: u64,
    lane: u32,
    pool: Arc<ReusablePool>,
}

/// The command pool that the reusable command buffers of a queue share. Its lock is the external synchronisation that Vulkan asks for while
/// a command buffer is allocated, recorded or freed.
#[derive(Debug)]
pub(in crate::vk) struct ReusablePool {
    handle: Mutex<vk::CommandPool>,
    device: Arc<Device>,
}

impl ReusablePool {
    pub(in crate::vk) fn new(device: &Arc<Device>) -> Arc<ReusablePool> {
        Arc::new(ReusablePool { handle: Mutex::new(vk::CommandPool::null()), device: device.clone() })
    }

    fn record(
        self: &Arc<Self>,
        gpu: &Gpu,
        family: u32,
        lane: u32,
        what: Recordable<'_>,
    ) -> Result<ReusableCommands, DeviceError> {
        let mut ranges = Ranges::new();
        let needs = what.check(&gpu.0, &mut ranges)?;
        let passed = gpu.passed(&what)?;
        let gpu = &*gpu.0;
        let mut pool = self.handle.lock();
        if *pool == vk::CommandPool::null() {
            *pool = command_pool(gpu, family, vk::CommandPoolCreateFlags::empty())?;
        }
        // SAFETY: the pool's lock is held.
        let command_buffer = unsafe { CommandBuffer::new(gpu, *pool) }?;
        let (counts, pool_of) = (Recorded::default(), self.clone());
        let mut reusable = ReusableCommands { command_buffer, counts, gpu: gpu.id, lane, pool: pool_of };
        let around = Surroundings { usage: Usage::AtOnce, ..needs.surroundings(false) };
        let recorded = reusable
            .command_buffer
            .prepare(gpu, needs)
            .and_then(|()| record(gpu, &mut reusable.command_buffer, (what, &ranges, passed), around));
        // Freeing the command buffer of a reusable command buffer that failed takes the lock.
        drop(pool);
        reusable.counts = Recorded { recordings: 0, ..recorded? };
        gpu.counters.reusable();
        Ok(reusable)
    }
}

impl Drop for ReusablePool {
    fn drop(&mut self) {
        let pool = *self.handle.lock();
        // SAFETY: the reusable command buffers hold the pool, so there are none left and nothing of it is pending.
        unsafe { destroy_command_pool(&self.device, pool) };
    }
}

impl ReusableCommands {
    pub(in crate::vk) fn commands(&self) -> vk::CommandBuffer {
        self.command_buffer.commands()
    }

    pub(in crate::vk) fn lines(&self) -> &[String] {
        &self.command_buffer.lines
    }

    pub(in crate::vk) fn belongs_to(&self, gpu: u64, lane: u32) -> bool {
        self.gpu == gpu && self.lane == lane
    }
}

impl Drop for ReusableCommands {
    fn drop(&mut self) {
        let commands = [self.command_buffer.commands()];
        let pool = self.pool.handle.lock();
        let device = &self.pool.device;
        // SAFETY: submissions of the reusable command buffer hold it until they are complete, so none is pending (or the device is lost,
        // where freeing stays legal); the pool's lock is held and the command buffer is the pool's.
        unsafe { (device.fns().v1_0.free_command_buffers)(device.handle(), *pool, 1, commands.as_ptr()) };
    }
}

impl GpuQueue<'_> {
    /// Checks and records something, to be submitted any number of times with [`Gpu::play`](crate::vk::Gpu::play).
    pub(in crate::vk) fn reusable(&self, what: Recordable<'_>) -> Result<ReusableCommands, DeviceError> {
        let gpu = &*self.gpu.0;
        if self.gpu.is_lost() {
            return Err(DeviceError::Lost);
        }
        let queue = &gpu.queues[self.index as usize];
        queue.reusables.record(self.gpu, queue.family(), self.index, what)
    }
}
