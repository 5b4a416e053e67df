//! The user's semaphores: to wait for, and to signal.
//!
//! Each is a submission without commands. Vulkan extends what a semaphore waits for or stands for to everything that
//! comes later, or came earlier, in submission order of the same queue, memory included.

use ash::vk::{self, Handle};
use vulkano::VulkanObject;

use crate::vk::{DeviceError, Gpu, GpuQueue, Point, Submitted};

/// A semaphore of the user's, with the user's word that it is what it is said to be.
#[derive(Debug, Clone, Copy)]
pub struct RawSemaphore {
    handle: vk::Semaphore,
    value: u64,
}

impl RawSemaphore {
    /// Vouches for a timeline semaphore and a value of it.
    ///
    /// # Safety
    ///
    /// - The handle is null or a timeline semaphore of the device of the context that it is used with, and lives until
    ///   what it was used for is complete.
    /// - To be signalled, the value is over every one that it has or will have by what was submitted earlier.
    #[must_use]
    pub unsafe fn timeline(handle: vk::Semaphore, value: u64) -> RawSemaphore {
        RawSemaphore { handle, value }
    }

    /// Vouches for a binary semaphore.
    ///
    /// # Safety
    ///
    /// - The handle is null or a binary semaphore of the device of the context that it is used with, and lives until what
    ///   it was used for is complete.
    /// - To be waited for, its signal was submitted before, and no one else waits for it. To be signalled, it is unsignalled
    ///   and no signal of it is pending.
    #[must_use]
    pub unsafe fn binary(handle: vk::Semaphore) -> RawSemaphore {
        RawSemaphore { handle, value: 0 }
    }

    fn info(self) -> Result<vk::SemaphoreSubmitInfo<'static>, DeviceError> {
        if self.handle.is_null() {
            return Err(DeviceError::NullHandle { what: "semaphore" });
        }
        Ok(vk::SemaphoreSubmitInfo::default()
            .semaphore(self.handle)
            .value(self.value)
            .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS))
    }
}

impl GpuQueue<'_> {
    /// What is submitted from now on starts after the semaphore.
    pub(crate) fn wait_for(&self, semaphore: RawSemaphore) -> Result<Submitted, DeviceError> {
        self.send_alone(&[semaphore.info()?], &[])
    }

    /// Signals the semaphore when all that was submitted is complete.
    pub(crate) fn signal(&self, semaphore: RawSemaphore) -> Result<Submitted, DeviceError> {
        self.send_alone(&[], &[semaphore.info()?])
    }
}

impl Gpu {
    /// The semaphore that says how far a queue has come, and the value of a point.
    pub(crate) fn semaphore(&self, point: Point) -> (vk::Semaphore, u64) {
        (self.0.queues[point.queue as usize].timeline.handle(), point.value)
    }
}
