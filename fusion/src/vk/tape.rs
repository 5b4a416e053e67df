//! Submissions that are recorded once and made as often as wanted.
//!
//! A tape may be pending several times at once: its command buffer is recorded for simultaneous use. It changes nothing
//! about ordering. The barrier that it starts with is part of the recording, so anyone who needs different ones has a tape
//! for each.

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use vulkano::{VulkanObject, device::Device};

use super::{
    DeviceError, Gpu, GpuQueue,
    frame::{command_pool, destroy_command_pool},
    record::{Ranges, Surroundings, Usage, record},
    script::Recordable,
    sheet::Sheet,
    stats::Recorded,
};

/// A recorded submission.
#[derive(Debug)]
pub(crate) struct Tape {
    sheet: Sheet,
    pub(super) counts: Recorded,
    /// Number of the context and of the queue it was recorded for.
    gpu: u64,
    lane: u32,
    pool: Arc<TapePool>,
}

/// The command pool that the tapes of a queue share. Its lock is the external synchronisation that Vulkan asks for while
/// a command buffer is allocated, recorded or freed.
#[derive(Debug)]
pub(super) struct TapePool {
    handle: Mutex<vk::CommandPool>,
    device: Arc<Device>,
}

impl TapePool {
    pub(super) fn new(device: &Arc<Device>) -> Arc<TapePool> {
        Arc::new(TapePool { handle: Mutex::new(vk::CommandPool::null()), device: device.clone() })
    }

    fn record(
        self: &Arc<Self>,
        gpu: &Gpu,
        family: u32,
        lane: u32,
        what: Recordable<'_>,
    ) -> Result<Tape, DeviceError> {
        let mut ranges = Ranges::new();
        let needs = what.check(&gpu.0, &mut ranges)?;
        let passed = gpu.passed(&what)?;
        let gpu = &*gpu.0;
        let mut pool = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if *pool == vk::CommandPool::null() {
            *pool = command_pool(gpu, family, vk::CommandPoolCreateFlags::empty())?;
        }
        // SAFETY: the pool's lock is held.
        let sheet = unsafe { Sheet::new(gpu, *pool) }?;
        let (counts, pool_of) = (Recorded::default(), self.clone());
        let mut tape = Tape { sheet, counts, gpu: gpu.id, lane, pool: pool_of };
        let around = Surroundings { usage: Usage::AtOnce, ..needs.surroundings(false) };
        let recorded = tape
            .sheet
            .prepare(gpu, needs)
            .and_then(|()| record(gpu, &mut tape.sheet, (what, &ranges, passed), around));
        // Freeing the command buffer of a tape that failed takes the lock.
        drop(pool);
        tape.counts = Recorded { recordings: 0, ..recorded? };
        gpu.counters.tape();
        Ok(tape)
    }
}

impl Drop for TapePool {
    fn drop(&mut self) {
        let pool = *self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the tapes hold the pool, so there are none left and nothing of it is pending.
        unsafe { destroy_command_pool(&self.device, pool) };
    }
}

impl Tape {
    pub(super) fn commands(&self) -> vk::CommandBuffer {
        self.sheet.commands()
    }

    pub(super) fn lines(&self) -> &[String] {
        &self.sheet.lines
    }

    pub(super) fn belongs_to(&self, gpu: u64, lane: u32) -> bool {
        self.gpu == gpu && self.lane == lane
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        let commands = [self.sheet.commands()];
        let pool = self.pool.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let device = &self.pool.device;
        // SAFETY: submissions of the tape hold it until they are complete, so none is pending (or the device is lost,
        // where freeing stays legal); the pool's lock is held and the command buffer is the pool's.
        unsafe { (device.fns().v1_0.free_command_buffers)(device.handle(), *pool, 1, commands.as_ptr()) };
    }
}

impl GpuQueue<'_> {
    /// Checks and records something, to be submitted any number of times with [`Gpu::play`](super::Gpu::play).
    pub(super) fn tape(&self, what: Recordable<'_>) -> Result<Tape, DeviceError> {
        let gpu = &*self.gpu.0;
        if self.gpu.is_lost() {
            return Err(DeviceError::Lost);
        }
        let queue = &gpu.queues[self.index as usize];
        queue.tapes.record(self.gpu, queue.family(), self.index, what)
    }
}
