//! Command buffer, descriptor pool and queries of one submission in flight.
//!
//! A frame is owned by one thing at a time: the thread that records it, the queue's list while it is pending, or the
//! queue's list of idle ones. That ownership is the external synchronisation that Vulkan asks of command and
//! descriptor pools, so no lock is held while commands are recorded.

use std::{ptr, sync::Arc};

use ash::vk;
use vulkano::{VulkanObject, device::Device};

use super::{DeviceError, Profile, check::Needs, gpu::GpuInner, sheet::Sheet, stats::Alive};

/// The reusable part of a submission.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) sheet: Sheet,
    queries: vk::QueryPool,
    profile: Option<Arc<Profile>>,
    pool: vk::CommandPool,
    device: Arc<Device>,
    _alive: Alive,
}

/// Makes a command pool for queues of a family.
pub(super) fn command_pool(
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
/// Nobody uses the pool, and none of its command buffers is pending, or the device is lost.
pub(super) unsafe fn destroy_command_pool(device: &Device, pool: vk::CommandPool) {
    // SAFETY: the caller's promise; destroying stays legal on a lost device.
    unsafe { (device.fns().v1_0.destroy_command_pool)(device.handle(), pool, ptr::null()) };
}

impl Frame {
    /// Makes an empty frame for queues of a family.
    pub(super) fn new(gpu: &GpuInner, family: u32) -> Result<Frame, DeviceError> {
        let pool = command_pool(gpu, family, vk::CommandPoolCreateFlags::TRANSIENT)?;
        // SAFETY: the pool was just made and nobody else knows it.
        let sheet = unsafe { Sheet::new(gpu, pool) }.inspect_err(|_| {
            // SAFETY: the same, and it has no command buffer.
            unsafe { destroy_command_pool(&gpu.device, pool) }
        })?;
        let (queries, device) = (vk::QueryPool::null(), gpu.device.clone());
        let _alive = gpu.counters.live_frames.one_more();
        Ok(Frame { sheet, queries, profile: None, pool, device, _alive })
    }

    /// Makes the frame ready to be recorded: pools reset and large enough. The frame is not pending.
    pub(super) fn prepare(&mut self, gpu: &GpuInner, needs: Needs, profile: bool) -> Result<(), DeviceError> {
        self.release();
        let fns = &self.device.fns().v1_0;
        // SAFETY: the frame is owned here and not pending, so its command buffer is not either.
        let result = unsafe {
            (fns.reset_command_pool)(self.device.handle(), self.pool, vk::CommandPoolResetFlags::empty())
        };
        gpu.ok("vkResetCommandPool", result)?;
        self.sheet.prepare(gpu, needs)?;
        if profile && self.queries == vk::QueryPool::null() {
            let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2);
            // SAFETY: the device is alive and `info` outlives the call.
            let result = unsafe {
                (fns.create_query_pool)(self.device.handle(), &info, ptr::null(), &mut self.queries)
            };
            gpu.ok("vkCreateQueryPool", result)?;
        }
        if profile {
            self.profile = Some(Arc::new(Profile::default()));
        }
        Ok(())
    }

    /// Where the time of this submission will be found, if it is profiled.
    pub(super) fn profile(&self) -> Option<&Arc<Profile>> {
        self.profile.as_ref()
    }

    /// The queries to take the time with, if it is profiled.
    pub(super) fn clock(&self) -> Option<vk::QueryPool> {
        self.profile.is_some().then_some(self.queries)
    }

    /// Reads the timestamps of a complete submission.
    pub(super) fn read_profile(&mut self, gpu: &GpuInner) {
        let Some(profile) = self.profile.take() else {
            return;
        };
        let mut ticks = [0_u64; 2];
        // SAFETY: the pool has two queries, both written by the submission, which is complete; `ticks` has room for
        // two 64-bit results.
        let result = unsafe {
            (self.device.fns().v1_0.get_query_pool_results)(
                self.device.handle(),
                self.queries,
                0,
                2,
                size_of_val(&ticks),
                ticks.as_mut_ptr().cast(),
                size_of::<u64>() as u64,
                vk::QueryResultFlags::TYPE_64,
            )
        };
        if gpu.ok("vkGetQueryPoolResults", result).is_ok() {
            let elapsed = ticks[1].wrapping_sub(ticks[0]) & gpu.caps.timestamp_mask();
            profile.set((elapsed as f64 * gpu.caps.timestamp_period) as u64);
        }
    }

    /// Lets go of what was kept. The frame is not pending.
    pub(super) fn release(&mut self) {
        self.sheet.release();
        self.profile = None;
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let fns = &self.device.fns().v1_0;
        // SAFETY: a frame is dropped only when it is not pending, or when the device is lost, where destroying stays
        // legal; a null handle is allowed.
        unsafe { (fns.destroy_query_pool)(self.device.handle(), self.queries, ptr::null()) };
        // SAFETY: the same; the pool is the frame's own.
        unsafe { destroy_command_pool(&self.device, self.pool) };
    }
}
