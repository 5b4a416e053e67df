//! Command buffer, descriptor pool and queries of one submission in flight.
//!
//! A frame is owned by one thing at a time: the thread that records it, the queue's list while it is pending, or the
//! queue's list of idle ones. That ownership is the external synchronisation that Vulkan asks of command and
//! descriptor pools, so no lock is held while commands are recorded.

use std::{ptr, sync::Arc};

use ash::vk;
use vulkano::{VulkanObject, device::Device};

use super::{Command, DeviceError, Memory, Pipeline, Profile, check::Needs, gpu::GpuInner, stats::Alive};

/// What a pending submission keeps alive.
#[derive(Debug)]
enum Keep {
    Memory { _memory: Arc<Memory> },
    Pipeline { _pipeline: Arc<Pipeline> },
}

/// The reusable part of a submission.
#[derive(Debug)]
pub(super) struct Frame {
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    sets: SetPool,
    queries: vk::QueryPool,
    keeps: Vec<Keep>,
    profile: Option<Arc<Profile>>,
    device: Arc<Device>,
    _alive: Alive,
}

/// A descriptor pool, large enough for one submission. Null until one needs it.
#[derive(Debug, Default)]
struct SetPool {
    handle: vk::DescriptorPool,
    capacity: Needs,
}

impl Frame {
    /// Makes an empty frame for queues of a family.
    pub(super) fn new(gpu: &GpuInner, family: u32) -> Result<Frame, DeviceError> {
        let mut frame = Frame {
            pool: vk::CommandPool::null(),
            commands: vk::CommandBuffer::null(),
            sets: SetPool::default(),
            queries: vk::QueryPool::null(),
            keeps: Vec::new(),
            profile: None,
            device: gpu.device.clone(),
            _alive: gpu.counters.live_frames.one_more(),
        };
        let fns = &gpu.device.fns().v1_0;
        let info = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::TRANSIENT)
            .queue_family_index(family);
        // SAFETY: the device is alive, `info` outlives the call, the family is one the device has queues of.
        let result =
            unsafe { (fns.create_command_pool)(gpu.device.handle(), &info, ptr::null(), &mut frame.pool) };
        gpu.ok("vkCreateCommandPool", result)?;
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(frame.pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: the pool was just made and nobody else knows it; there is room for the one buffer asked for.
        let result =
            unsafe { (fns.allocate_command_buffers)(gpu.device.handle(), &info, &mut frame.commands) };
        gpu.ok("vkAllocateCommandBuffers", result)?;
        Ok(frame)
    }

    pub(super) fn commands(&self) -> vk::CommandBuffer {
        self.commands
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
        if needs.sets > 0 {
            self.sets.prepare(gpu, needs)?;
        }
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

    pub(super) fn queries(&self) -> vk::QueryPool {
        self.queries
    }

    /// Keeps everything that the commands refer to.
    pub(super) fn keep(&mut self, commands: &[Command]) {
        for command in commands {
            match command {
                Command::Dispatch(dispatch) => {
                    self.keeps.push(Keep::Pipeline { _pipeline: dispatch.pipeline.clone() });
                    let bound = dispatch.bindings.iter().map(|bound| &bound.memory);
                    for memory in bound.chain(&dispatch.keeps) {
                        self.keeps.push(Keep::Memory { _memory: memory.clone() });
                    }
                }
                Command::Copy { src, dst, .. } => {
                    self.keeps.push(Keep::Memory { _memory: src.clone() });
                    self.keeps.push(Keep::Memory { _memory: dst.clone() });
                }
                Command::Fill { dst, .. } | Command::Update { dst, .. } => {
                    self.keeps.push(Keep::Memory { _memory: dst.clone() });
                }
                Command::Barrier(_) => {}
            }
        }
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
        self.keeps.clear();
        self.profile = None;
    }

    /// A descriptor set of this submission.
    pub(super) fn set(
        &mut self,
        gpu: &GpuInner,
        layout: vk::DescriptorSetLayout,
    ) -> Result<vk::DescriptorSet, DeviceError> {
        let layouts = [layout];
        let info =
            vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.sets.handle).set_layouts(&layouts);
        let mut set = vk::DescriptorSet::null();
        // SAFETY: the pool is this frame's own and `prepare` made it large enough; `info` outlives the call.
        let result = unsafe {
            (self.device.fns().v1_0.allocate_descriptor_sets)(self.device.handle(), &info, &mut set)
        };
        gpu.ok("vkAllocateDescriptorSets", result)?;
        Ok(set)
    }
}

impl SetPool {
    fn prepare(&mut self, gpu: &GpuInner, needs: Needs) -> Result<(), DeviceError> {
        let fns = &gpu.device.fns().v1_0;
        let device = gpu.device.handle();
        let have = self.capacity;
        let enough =
            have.sets >= needs.sets && have.storage >= needs.storage && have.uniform >= needs.uniform;
        if self.handle != vk::DescriptorPool::null() && enough {
            // SAFETY: the frame is not pending, so no set of the pool is in use.
            let result = unsafe {
                (fns.reset_descriptor_pool)(device, self.handle, vk::DescriptorPoolResetFlags::empty())
            };
            return gpu.ok("vkResetDescriptorPool", result);
        }
        self.destroy(&gpu.device);
        let capacity = Needs {
            sets: needs.sets.max(have.sets).next_power_of_two(),
            storage: needs.storage.max(have.storage).next_power_of_two(),
            uniform: needs.uniform.max(have.uniform).next_power_of_two(),
            host: false,
        };
        let sizes = [
            vk::DescriptorPoolSize::default()
                .ty(vk::DescriptorType::STORAGE_BUFFER)
                .descriptor_count(capacity.storage),
            vk::DescriptorPoolSize::default()
                .ty(vk::DescriptorType::UNIFORM_BUFFER)
                .descriptor_count(capacity.uniform),
        ];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(capacity.sets).pool_sizes(&sizes);
        // SAFETY: the device is alive, `info` and the sizes outlive the call, no count is 0.
        let result = unsafe { (fns.create_descriptor_pool)(device, &info, ptr::null(), &mut self.handle) };
        gpu.ok("vkCreateDescriptorPool", result)?;
        self.capacity = capacity;
        Ok(())
    }

    fn destroy(&mut self, device: &Device) {
        // SAFETY: the frame is not pending, so no set of the pool is in use; a null handle is allowed.
        unsafe {
            (device.fns().v1_0.destroy_descriptor_pool)(device.handle(), self.handle, ptr::null());
        }
        *self = SetPool::default();
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let device = self.device.clone();
        let fns = &device.fns().v1_0;
        self.sets.destroy(&device);
        // SAFETY: a frame is dropped only when it is not pending, or when the device is lost, where destroying stays
        // legal; a null handle is allowed.
        unsafe { (fns.destroy_query_pool)(device.handle(), self.queries, ptr::null()) };
        // SAFETY: the same; the command buffer goes with its pool.
        unsafe { (fns.destroy_command_pool)(device.handle(), self.pool, ptr::null()) };
    }
}
