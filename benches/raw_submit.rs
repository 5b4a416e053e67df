//! What hits are compared with: one dispatch recorded beforehand, or each time, on the same buffers or on others, submitted and waited for through the Vulkan calls.

#![allow(unsafe_code, dead_code)]

use std::{slice, sync::Arc};

use ash::vk;
use vkfuse::{CacheOptions, Context, ContextOptions};
use vulkano::{
    VulkanObject,
    buffer::{Buffer, BufferCreateInfo, BufferUsage, Subbuffer},
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

use crate::{hit_cases::SETS, null_driver, stages, workloads};

const ELEMENTS: u32 = 1 << 10;

/// A context over the real driver, made as the raw submission's device is.
pub(crate) fn context() -> Context {
    let (device, queues) = null_driver::device(stages::library(), 1);
    let options = ContextOptions::new().cache(CacheOptions::new().no_disk());
    Context::from_vulkano(device, queues, options).expect("a context")
}

/// How commands that are recorded again get rid of the old ones.
#[derive(Clone, Copy)]
pub(crate) enum Reset {
    /// The pool is reset, which has no other command buffer.
    Pool,
    /// The command buffer is, as it begins.
    Buffer,
}

/// Ways of taking the time: in command buffers of their own or in that of the dispatch, and the stages after which the two timestamps are written, if
/// any are.
pub(crate) const TIMED: [(&str, bool, Option<[vk::PipelineStageFlags2; 2]>); 6] = {
    use vk::PipelineStageFlags2 as Stage;
    [
        ("raw, between two empty buffers", true, None),
        ("raw, timed by two buffers", true, Some([Stage::ALL_COMMANDS, Stage::ALL_COMMANDS])),
        ("raw, by two, first at once", true, Some([Stage::TOP_OF_PIPE, Stage::ALL_COMMANDS])),
        ("raw, timed in its own", false, Some([Stage::ALL_COMMANDS, Stage::ALL_COMMANDS])),
        ("raw, in its own, first at once", false, Some([Stage::TOP_OF_PIPE, Stage::ALL_COMMANDS])),
        ("raw, in its own, by compute", false, Some([Stage::COMPUTE_SHADER, Stage::COMPUTE_SHADER])),
    ]
};

/// A recorded dispatch of the chain as somebody wrote it by hand.
pub(crate) struct RawSubmit {
    commands: CommandBuffer,
    bound: Bound,
    /// The set of `bound`, and others over as many other buffers, to go round.
    sets: Vec<vk::DescriptorSet>,
    /// The buffers of each set, by binding.
    buffers: Vec<[vk::DescriptorBufferInfo; 5]>,
    at: usize,
    /// For commands that are recorded again.
    again: [(vk::CommandPool, vk::CommandBuffer); 2],
    /// The same dispatch with timestamps: what is submitted together, by [`TIMED`].
    timed: Vec<Vec<vk::CommandBuffer>>,
    timeline: Semaphore,
    value: u64,
    submit: vk::PFN_vkQueueSubmit2,
    queue: Arc<Queue>,
    device: Arc<Device>,
}

impl RawSubmit {
    /// Records it.
    pub(crate) fn new() -> RawSubmit {
        let (device, mut queues) = null_driver::device(stages::library(), 1);
        let queue = queues.pop().expect("a queue");
        let submit = if device.api_version() >= vulkano::Version::V1_3 {
            device.fns().v1_3.queue_submit2
        } else {
            device.fns().khr_synchronization2.queue_submit2_khr
        };
        let (commands, bound, sets, buffers) = record(&device, &queue);
        let flags = [vk::CommandPoolCreateFlags::TRANSIENT, vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER];
        let again = flags.map(|flags| own_buffer(&device, &queue, flags));
        let info =
            SemaphoreCreateInfo { semaphore_type: SemaphoreType::Timeline, ..SemaphoreCreateInfo::default() };
        let timeline = Semaphore::new(device.clone(), info).expect("a semaphore");
        let timed = Vec::new();
        let mut raw = RawSubmit {
            commands,
            bound,
            sets,
            buffers,
            at: 0,
            again,
            timed,
            timeline,
            value: 0,
            submit,
            queue,
            device,
        };
        raw.timed = TIMED.iter().map(|(_, apart, stages)| raw.time(*apart, *stages)).collect();
        raw
    }

    /// Records the dispatch with timestamps, in command buffers that are submitted together.
    fn time(&self, apart: bool, stages: Option<[vk::PipelineStageFlags2; 2]>) -> Vec<vk::CommandBuffer> {
        let (fns, device) = (&self.device.fns().v1_0, self.device.handle());
        let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2);
        let begin =
            vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        let own = || own_buffer(&self.device, &self.queue, vk::CommandPoolCreateFlags::empty()).1;
        let mut queries = vk::QueryPool::null();
        // SAFETY: everything is alive, and the command buffers are new and used by this thread only.
        unsafe {
            assert_eq!(
                (fns.create_query_pool)(device, &info, std::ptr::null(), &mut queries),
                vk::Result::SUCCESS
            );
            let mut all = vec![own()];
            let _ = (fns.begin_command_buffer)(all[0], &begin);
            let next = |all: &mut Vec<vk::CommandBuffer>| {
                let to = if apart { own() } else { return };
                let _ = (fns.end_command_buffer)(all[all.len() - 1]);
                let _ = (fns.begin_command_buffer)(to, &begin);
                all.push(to);
            };
            let stamp = |to: vk::CommandBuffer, query: u32| {
                let Some(stages) = stages else { return };
                (self.device.fns().v1_3.cmd_write_timestamp2)(to, stages[query as usize], queries, query);
            };
            if stages.is_some() {
                (fns.cmd_reset_query_pool)(all[0], queries, 0, 2);
            }
            stamp(all[0], 0);
            next(&mut all);
            self.dispatch(all[all.len() - 1], self.sets[0]);
            next(&mut all);
            stamp(all[all.len() - 1], 1);
            let _ = (fns.end_command_buffer)(all[all.len() - 1]);
            all
        }
    }

    /// The dispatch with timestamps in one of the ways of [`TIMED`].
    pub(crate) fn run_timed(&mut self, way: usize) {
        let all = std::mem::take(&mut self.timed[way]);
        self.submit_all(&all);
        self.timed[way] = all;
    }

    /// Records the dispatch.
    ///
    /// # Safety
    ///
    /// The command buffer is being recorded by this thread.
    unsafe fn dispatch(&self, to: vk::CommandBuffer, set: vk::DescriptorSet) {
        let fns = &self.device.fns().v1_0;
        let Bound { pipeline, layout } = self.bound;
        let (compute, stage) = (vk::PipelineBindPoint::COMPUTE, vk::ShaderStageFlags::COMPUTE);
        // SAFETY: everything is alive and made for each other.
        unsafe {
            (fns.cmd_bind_pipeline)(to, compute, pipeline);
            (fns.cmd_bind_descriptor_sets)(to, compute, layout, 0, 1, &set, 0, std::ptr::null());
            (fns.cmd_push_constants)(to, layout, stage, 0, 4, std::ptr::from_ref(&ELEMENTS).cast());
            (fns.cmd_dispatch)(to, ELEMENTS / 256, 1, 1);
        }
    }

    /// Submits it and waits as this crate does: polling for a short while except on the processor.
    pub(crate) fn run(&mut self) {
        self.submit(self.commands.handle());
    }

    /// Records the dispatch again, with the descriptor set that there is, and does the same.
    pub(crate) fn run_recorded(&mut self, reset: Reset) {
        self.record_and_submit(reset, self.sets[0]);
    }

    /// The same, each time on the next of as many sets of buffers as the cases with other buffers go round.
    pub(crate) fn run_on_others(&mut self, reset: Reset) {
        self.at = (self.at + 1) % self.sets.len();
        self.record_and_submit(reset, self.sets[self.at]);
    }

    /// The same, as who did not know the buffers before: all are written into one set first.
    pub(crate) fn run_on_new(&mut self, reset: Reset) {
        self.at = (self.at + 1) % self.sets.len();
        let write = [vk::WriteDescriptorSet::default()
            .dst_set(self.sets[0])
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .buffer_info(&self.buffers[self.at])];
        let update = self.device.fns().v1_0.update_descriptor_sets;
        // SAFETY: the earlier run is complete, and the five bindings of the set are storage buffers of the same stages.
        unsafe { update(self.device.handle(), 1, write.as_ptr(), 0, std::ptr::null()) };
        self.record_and_submit(reset, self.sets[0]);
    }

    fn record_and_submit(&mut self, reset: Reset, set: vk::DescriptorSet) {
        let (pool, commands) = self.again[reset as usize];
        let (fns, device) = (&self.device.fns().v1_0, self.device.handle());
        let begin = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: everything is alive and used by this thread only, and the earlier run is complete.
        unsafe {
            if matches!(reset, Reset::Pool) {
                let _ = (fns.reset_command_pool)(device, pool, vk::CommandPoolResetFlags::empty());
            }
            let _ = (fns.begin_command_buffer)(commands, &begin);
            self.dispatch(commands, set);
            assert_eq!((fns.end_command_buffer)(commands), vk::Result::SUCCESS);
        }
        self.submit(commands);
    }

    fn submit(&mut self, commands: vk::CommandBuffer) {
        self.submit_all(&[commands]);
    }

    fn submit_all(&mut self, commands: &[vk::CommandBuffer]) {
        self.value += 1;
        let mut infos = [vk::CommandBufferSubmitInfo::default(); 3];
        infos.iter_mut().zip(commands).for_each(|(info, &one)| *info = info.command_buffer(one));
        let commands = &infos[..commands.len()];
        let signals = [vk::SemaphoreSubmitInfo::default()
            .semaphore(self.timeline.handle())
            .value(self.value)
            .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)];
        let info = vk::SubmitInfo2::default().command_buffer_infos(commands).signal_semaphore_infos(&signals);
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

/// What the dispatch needs bound.
#[derive(Clone, Copy)]
struct Bound {
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
}

/// A command buffer of a pool of its own. Both live as long as the program.
fn own_buffer(
    device: &Arc<Device>,
    queue: &Arc<Queue>,
    flags: vk::CommandPoolCreateFlags,
) -> (vk::CommandPool, vk::CommandBuffer) {
    let (mut pool, mut commands) = Default::default();
    let info =
        vk::CommandPoolCreateInfo::default().flags(flags).queue_family_index(queue.queue_family_index());
    let fns = &device.fns().v1_0;
    // SAFETY: the device is alive and has queues of the family; the pool is used here only, and has room for one.
    unsafe {
        let result = (fns.create_command_pool)(device.handle(), &info, std::ptr::null(), &mut pool);
        assert_eq!(result, vk::Result::SUCCESS);
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let result = (fns.allocate_command_buffers)(device.handle(), &info, &mut commands);
        assert_eq!(result, vk::Result::SUCCESS);
    }
    (pool, commands)
}

type Recorded = (CommandBuffer, Bound, Vec<vk::DescriptorSet>, Vec<[vk::DescriptorBufferInfo; 5]>);

fn record(device: &Arc<Device>, queue: &Arc<Queue>) -> Recorded {
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
    let buffer = |_| {
        let info = BufferCreateInfo { usage: BufferUsage::STORAGE_BUFFER, ..BufferCreateInfo::default() };
        let allocation = AllocationCreateInfo::default();
        Buffer::new_slice::<f32>(memory.clone(), info, allocation, ELEMENTS.into()).expect("a buffer")
    };
    let all: Vec<[_; 5]> = (0..=SETS).map(|_| [0; 5].map(buffer)).collect();
    let write =
        |(binding, buffer): (u32, &Subbuffer<[f32]>)| WriteDescriptorSet::buffer(binding, buffer.clone());
    let allocator = Arc::new(StandardDescriptorSetAllocator::new(device.clone(), Default::default()));
    let of = &layout.set_layouts()[0];
    let set = |buffers: &[_; 5]| {
        DescriptorSet::new(allocator.clone(), of.clone(), (0..).zip(buffers).map(write), []).expect("a set")
    };
    let sets: Vec<_> = all.iter().map(set).collect();
    let info = |buffer: &Subbuffer<[f32]>| {
        vk::DescriptorBufferInfo::default()
            .buffer(buffer.buffer().handle())
            .offset(buffer.offset())
            .range(buffer.size())
    };
    let infos = all.iter().map(|buffers| buffers.each_ref().map(info)).collect();

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
        to.bind_descriptor_sets(PipelineBindPoint::Compute, &layout, 0, &[sets[0].as_raw()], &[])
            .expect("a command");
        to.push_constants(&layout, 0, &ELEMENTS).expect("a command");
        to.dispatch([ELEMENTS / 256, 1, 1]).expect("a command");
        let commands = to.end().expect("a command buffer");
        let bound = Bound { pipeline: pipeline.handle(), layout: layout.handle() };
        let handles = sets.iter().map(|set| set.handle()).collect();
        // They have to outlive it, and live as long as the program here.
        std::mem::forget((sets, all, pipeline));
        (commands, bound, handles, infos)
    }
}
