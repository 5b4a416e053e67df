//! What hits are compared with: one dispatch recorded beforehand, submitted and waited for through the Vulkan calls.

#![allow(unsafe_code, dead_code)]

use std::{slice, sync::Arc};

use ash::vk;
use vkfuse::{CacheOptions, Context, ContextOptions};
use vulkano::{
    VulkanLibrary, VulkanObject,
    buffer::{Buffer, BufferCreateInfo, BufferUsage},
    command_buffer::{
        CommandBuffer, CommandBufferBeginInfo, CommandBufferLevel, CommandBufferUsage,
        RecordingCommandBuffer, allocator::StandardCommandBufferAllocator,
    },
    descriptor_set::{DescriptorSet, WriteDescriptorSet, allocator::StandardDescriptorSetAllocator},
    device::{Device, Queue},
    memory::allocator::{AllocationCreateInfo, StandardMemoryAllocator},
    pipeline::{
        ComputePipeline, PipelineBindPoint, PipelineLayout, PipelineShaderStageCreateInfo,
        compute::ComputePipelineCreateInfo, layout::PipelineDescriptorSetLayoutCreateInfo,
    },
    shader::{ShaderModule, ShaderModuleCreateInfo},
    sync::semaphore::{Semaphore, SemaphoreCreateInfo, SemaphoreType},
};

use crate::{null_driver, workloads};

const ELEMENTS: u32 = 1 << 10;

/// A context over the real driver, made as the raw submission's device is.
pub(crate) fn context() -> Context {
    let (device, queue) = null_driver::device(VulkanLibrary::new().expect("a Vulkan loader"));
    let options = ContextOptions::new().cache(CacheOptions::new().no_disk());
    Context::from_vulkano(device, vec![queue], options).expect("a context")
}

/// A recorded dispatch of the chain as somebody wrote it by hand.
pub(crate) struct RawSubmit {
    commands: CommandBuffer,
    timeline: Semaphore,
    value: u64,
    submit: vk::PFN_vkQueueSubmit2,
    queue: Arc<Queue>,
    device: Arc<Device>,
}

impl RawSubmit {
    /// Records it.
    pub(crate) fn new() -> RawSubmit {
        let (device, queue) = null_driver::device(VulkanLibrary::new().expect("a Vulkan loader"));
        let submit = if device.api_version() >= vulkano::Version::V1_3 {
            device.fns().v1_3.queue_submit2
        } else {
            device.fns().khr_synchronization2.queue_submit2_khr
        };
        let commands = record(&device, &queue);
        let info =
            SemaphoreCreateInfo { semaphore_type: SemaphoreType::Timeline, ..SemaphoreCreateInfo::default() };
        let timeline = Semaphore::new(device.clone(), info).expect("a semaphore");
        RawSubmit { commands, timeline, value: 0, submit, queue, device }
    }

    /// Submits it and waits as this crate does: polling for a short while except on the processor.
    pub(crate) fn run(&mut self) {
        self.value += 1;
        let commands = [vk::CommandBufferSubmitInfo::default().command_buffer(self.commands.handle())];
        let signals = [vk::SemaphoreSubmitInfo::default()
            .semaphore(self.timeline.handle())
            .value(self.value)
            .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)];
        let info =
            vk::SubmitInfo2::default().command_buffer_infos(&commands).signal_semaphore_infos(&signals);
        // SAFETY: everything is alive, the queue is used by this thread only, and the earlier run is complete.
        let result = unsafe { (self.submit)(self.queue.handle(), 1, &info, vk::Fence::null()) };
        assert_eq!(result, vk::Result::SUCCESS);
        let kind = self.device.physical_device().properties().device_type;
        let fns = &self.device.fns().v1_2;
        if kind != vulkano::device::physical::PhysicalDeviceType::Cpu {
            loop {
                let mut reached = 0;
                // SAFETY: device and semaphore are alive.
                let result = unsafe {
                    (fns.get_semaphore_counter_value)(
                        self.device.handle(),
                        self.timeline.handle(),
                        &mut reached,
                    )
                };
                assert_eq!(result, vk::Result::SUCCESS);
                if reached >= self.value {
                    return;
                }
                std::hint::spin_loop();
            }
        }
        let semaphore = self.timeline.handle();
        let wait = vk::SemaphoreWaitInfo::default()
            .semaphores(slice::from_ref(&semaphore))
            .values(slice::from_ref(&self.value));
        // SAFETY: device and semaphore are alive, `wait` outlives the call.
        let result = unsafe { (fns.wait_semaphores)(self.device.handle(), &wait, u64::MAX) };
        assert_eq!(result, vk::Result::SUCCESS);
    }
}

fn record(device: &Arc<Device>, queue: &Arc<Queue>) -> CommandBuffer {
    let bytes = std::fs::read(workloads::shader("chain/fused")).expect("a checked-in kernel");
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    // SAFETY: a valid module: the repository's own checks say so.
    let module = unsafe { ShaderModule::new(device.clone(), ShaderModuleCreateInfo::new(&words)) };
    let entry = module.expect("a module").single_entry_point().expect("one entry point");
    let stage = PipelineShaderStageCreateInfo::new(entry);
    let layout = PipelineDescriptorSetLayoutCreateInfo::from_stages([&stage]);
    let layout = layout.into_pipeline_layout_create_info(device.clone()).expect("a layout");
    let layout = PipelineLayout::new(device.clone(), layout).expect("a layout");
    let info = ComputePipelineCreateInfo::stage_layout(stage, layout.clone());
    let pipeline = ComputePipeline::new(device.clone(), None, info).expect("a pipeline");

    let memory = Arc::new(StandardMemoryAllocator::new_default(device.clone()));
    let buffer = |binding| {
        let info = BufferCreateInfo { usage: BufferUsage::STORAGE_BUFFER, ..BufferCreateInfo::default() };
        let allocation = AllocationCreateInfo::default();
        let buffer = Buffer::new_slice::<f32>(memory.clone(), info, allocation, ELEMENTS.into());
        WriteDescriptorSet::buffer(binding, buffer.expect("a buffer"))
    };
    let sets = Arc::new(StandardDescriptorSetAllocator::new(device.clone(), Default::default()));
    let set = DescriptorSet::new(sets, layout.set_layouts()[0].clone(), (0..5).map(buffer), []);
    let set = set.expect("a set");

    let allocator = Arc::new(StandardCommandBufferAllocator::new(device.clone(), Default::default()));
    let begin = CommandBufferBeginInfo {
        usage: CommandBufferUsage::SimultaneousUse,
        ..CommandBufferBeginInfo::default()
    };
    let family = queue.queue_family_index();
    let mut to = RecordingCommandBuffer::new(allocator, family, CommandBufferLevel::Primary, begin)
        .expect("a command buffer");
    // SAFETY: pipeline, set and constants are those of the kernel, and stay alive.
    unsafe {
        to.bind_pipeline_compute(&pipeline).expect("a command");
        to.bind_descriptor_sets(PipelineBindPoint::Compute, &layout, 0, &[set.as_raw()], &[])
            .expect("a command");
        to.push_constants(&layout, 0, &ELEMENTS).expect("a command");
        to.dispatch([ELEMENTS / 256, 1, 1]).expect("a command");
        let commands = to.end().expect("a command buffer");
        // They have to outlive it, and live as long as the program here.
        std::mem::forget((set, pipeline));
        commands
    }
}
