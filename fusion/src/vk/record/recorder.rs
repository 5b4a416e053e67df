//! Commands into a command buffer.

use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use vulkano::{VulkanObject, device::DeviceFunctions};

use crate::vk::{
    Barrier, Command, Dependency, DeviceError, Dispatch, Memory, Pipeline, Resource, Texture,
    check::{self, Needs},
    command_buffer::{CommandBuffer, Sets},
    gpu::GpuInner,
    passed::Passed,
    pipeline::compute::SetLayout,
    stats::Recorded,
    template::{Part, Played, Recordable},
};

/// What is bound, in the order of a pipeline's bindings, or of those of several.
pub(in crate::vk) type Ranges = SmallVec<[Descriptor; 8]>;

/// A buffer or an image as the templates of pipelines take it: see [`Pipeline`].
#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::vk) union Descriptor {
    buffer: vk::DescriptorBufferInfo,
    image: vk::DescriptorImageInfo,
    texels: vk::BufferView,
}

impl Descriptor {
    #[inline]
    pub(in crate::vk) fn of_buffer(memory: &Memory, offset: u64, len: u64) -> Descriptor {
        let buffer = vk::DescriptorBufferInfo::default().buffer(memory.handle());
        Descriptor { buffer: buffer.offset(memory.base() + offset).range(len) }
    }

    pub(in crate::vk) fn of(resource: &Resource, offset: u64, len: u64) -> Descriptor {
        match resource {
            Resource::Buffer(memory) => Descriptor::of_buffer(memory, offset, len),
            Resource::Texture(texture) => match texture.texels() {
                Some(texels) => Descriptor { texels },
                None => Descriptor { image: texture.descriptor() },
            },
        }
    }
}

impl std::fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Descriptor")
    }
}

/// What is bound for a pipeline that takes arguments in a buffer, which is its last binding.
#[cold]
fn with_argument(
    bound: &[Descriptor],
    memory: Option<&Arc<Memory>>,
    len: u32,
) -> Result<Ranges, DeviceError> {
    let memory = memory.ok_or(DeviceError::Foreign { what: "buffer of arguments" })?;
    let mut all = Ranges::from_slice(bound);
    all.push(Descriptor::of_buffer(memory, 0, len.into()));
    Ok(all)
}

/// How often a recording is submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::vk) enum Usage {
    Once,
    /// Any number of times, one after another.
    Again,
    /// Any number of times, and may be pending more than once.
    AtOnce,
}

/// What surrounds the commands of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::vk) struct Surroundings {
    /// Start with a full barrier: it waits for earlier work of the same queue.
    pub(in crate::vk) entry_barrier: bool,
    /// End by making writes visible to the host.
    pub(in crate::vk) host: bool,
    pub(in crate::vk) usage: Usage,
}

/// Records checked commands into a prepared command buffer, with what a template's bindings are and the buffers of arguments that they need.
pub(in crate::vk) fn record(
    gpu: &GpuInner,
    command_buffer: &mut CommandBuffer,
    (what, ranges, passed): (Recordable<'_>, &Ranges, Passed),
    around: Surroundings,
) -> Result<Recorded, DeviceError> {
    let mut recorder = Recorder {
        gpu,
        fns: gpu.device.fns(),
        to: command_buffer.commands(),
        bound: vk::Pipeline::null(),
        passed: passed.iter(),
        counts: Recorded { recordings: 1, ..Recorded::default() },
        lines: gpu.is_recording().then(Vec::new),
    };
    recorder.begin(around.usage)?;
    if around.entry_barrier {
        recorder.note(|| "barrier Full (wait)".to_owned());
        recorder.counts.barriers += 1;
        recorder.memory_barrier(Barrier::Full.to_vk());
    }
    match &what {
        Recordable::Commands(commands) => {
            for command in *commands {
                match command {
                    Command::Dispatch(dispatch) => recorder.one(&mut command_buffer.sets, dispatch)?,
                    Command::Barrier(barrier) => recorder.barrier(*barrier),
                    transfer => recorder.transfer(transfer),
                }
            }
        }
        Recordable::Template(played, _) => {
            if let Some(barrier) = played.first {
                recorder.barrier(barrier);
            }
            recorder.template(&mut command_buffer.sets, *played, ranges)?;
        }
    }
    if around.host {
        recorder.host_barrier();
    }
    recorder.end()?;
    let recorded = recorder.counts;
    command_buffer.lines = recorder.lines.unwrap_or_default();
    command_buffer.sets.end();
    command_buffer.keep(what, passed);
    Ok(recorded)
}

/// Gives the sets of a recorded template other memories, with the buffers of arguments that they need. What is recorded is the same as it would be on
/// these, and no submission of it is pending.
pub(in crate::vk) fn rewrite(
    gpu: &GpuInner,
    sets: &Sets,
    (played, ranges, passed): (Played<'_>, &Ranges, &Passed),
) -> Result<(), DeviceError> {
    let (mut sets, mut passed) = (sets.rewritable(), passed.iter());
    for (part, _, mut bound) in played.bound(ranges) {
        let all;
        if let Some(len) = part.pipeline.push_buffer() {
            all = with_argument(bound, passed.next(), len)?;
            bound = &all;
        }
        for layout in part.pipeline.sets().iter().filter(|layout| layout.count > 0) {
            let set = sets.next().ok_or(DeviceError::Foreign { what: "recording" })?;
            write(gpu, set, layout, bound);
        }
    }
    Ok(())
}

/// Writes a set that nothing pending uses.
#[inline]
fn write(gpu: &GpuInner, set: vk::DescriptorSet, layout: &SetLayout, bound: &[Descriptor]) {
    let data = bound[layout.first..layout.first + layout.count].as_ptr().cast();
    let update = gpu.device.fns().v1_1.update_descriptor_set_with_template;
    // SAFETY: the set is of this layout, and is owned by the caller; no submission that uses it is pending, and what is recorded with it either may be submitted
    // after it was written, or is not submitted any more. The template was made for the layout; it takes as many buffers as there are from `data` on, and buffers and
    // ranges were checked.
    unsafe { update(gpu.device.handle(), set, layout.template, data) };
}

/// Records a checked template into a command buffer of the program's, which is being recorded, between two dependencies. The
/// sets are prepared where any are needed, and kept by the caller as everything else is.
pub(in crate::vk) fn record_into(
    gpu: &GpuInner,
    to: vk::CommandBuffer,
    sets: &mut Sets,
    (played, ranges, passed): (Played<'_>, &Ranges, &Passed),
    around: &[Option<Dependency>; 2],
) -> Result<(), DeviceError> {
    let (fns, bound, counts) = (gpu.device.fns(), vk::Pipeline::null(), Recorded::default());
    let mut recorder = Recorder { gpu, fns, to, bound, passed: passed.iter(), counts, lines: None };
    let [before, after] = around;
    if let Some(before) = before {
        recorder.dependency(&before.info());
    }
    recorder.template(sets, played, ranges)?;
    if let Some(after) = after {
        recorder.dependency(&after.info());
    }
    Ok(())
}

impl Needs {
    pub(in crate::vk) fn surroundings(self, entry_barrier: bool) -> Surroundings {
        Surroundings { entry_barrier, host: self.host, usage: Usage::Once }
    }
}

struct Recorder<'a> {
    gpu: &'a GpuInner,
    fns: &'a DeviceFunctions,
    to: vk::CommandBuffer,
    bound: vk::Pipeline,
    /// The buffers of arguments of what is left.
    passed: std::slice::Iter<'a, Arc<Memory>>,
    counts: Recorded,
    lines: Option<Vec<String>>,
}

impl Recorder<'_> {
    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }

    fn begin(&self, usage: Usage) -> Result<(), DeviceError> {
        let usage = match usage {
            Usage::Once => vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT,
            Usage::Again => vk::CommandBufferUsageFlags::empty(),
            Usage::AtOnce => vk::CommandBufferUsageFlags::SIMULTANEOUS_USE,
        };
        let info = vk::CommandBufferBeginInfo::default().flags(usage);
        // SAFETY: the command buffer is in the initial state (it is new, or its pool was reset) and owned here.
        let result = unsafe { (self.fns.v1_0.begin_command_buffer)(self.to, &info) };
        self.gpu.ok("vkBeginCommandBuffer", result)
    }

    fn end(&self) -> Result<(), DeviceError> {
        // SAFETY: the command buffer is being recorded and owned here.
        let result = unsafe { (self.fns.v1_0.end_command_buffer)(self.to) };
        self.gpu.ok("vkEndCommandBuffer", result)
    }

    fn barrier(&mut self, barrier: Barrier) {
        self.note(|| barrier.in_words().to_owned());
        self.counts.barriers += 1;
        self.memory_barrier(barrier.to_vk());
    }

    fn host_barrier(&self) {
        // Every write a submission can make, to what the host reads through a mapping.
        self.memory_barrier(
            vk::MemoryBarrier2::default()
                .src_stage_mask(COMPUTE | TRANSFER)
                .src_access_mask(vk::AccessFlags2::SHADER_WRITE | vk::AccessFlags2::TRANSFER_WRITE)
                .dst_stage_mask(vk::PipelineStageFlags2::HOST)
                .dst_access_mask(vk::AccessFlags2::HOST_READ),
        );
    }

    fn memory_barrier(&self, barrier: vk::MemoryBarrier2<'_>) {
        let barriers = [barrier];
        self.dependency(&vk::DependencyInfo::default().memory_barriers(&barriers));
    }

    fn dependency(&self, info: &vk::DependencyInfo<'_>) {
        // SAFETY: the command buffer is being recorded, `info` outlives the call, stages and accesses fit each other
        // and a compute queue (or are the user's affair).
        unsafe { (self.gpu.calls.barrier)(self.to, info) };
    }

    fn one(&mut self, sets: &mut Sets, dispatch: &Dispatch) -> Result<(), DeviceError> {
        let Dispatch { pipeline, bindings, push, groups, keeps: _ } = dispatch;
        let bound = pipeline.given().iter().enumerate();
        let bound = bound.filter_map(|(number, (at, _))| check::find(bindings, number, *at));
        let bound: Ranges =
            bound.map(|bound| Descriptor::of(&bound.resource, bound.offset, bound.len)).collect();
        self.dispatch(sets, pipeline, &bound, push, *groups)
    }

    fn template(&mut self, sets: &mut Sets, played: Played<'_>, ranges: &Ranges) -> Result<(), DeviceError> {
        for (part, push, bound) in played.bound(ranges) {
            let Part { barrier, pipeline, bindings: _, push: _, groups } = part;
            if let Some(barrier) = barrier {
                self.barrier(*barrier);
            }
            self.dispatch(sets, pipeline, bound, push, *groups)?;
        }
        Ok(())
    }

    /// Records a dispatch with its buffers in the order of the pipeline's bindings.
    fn dispatch(
        &mut self,
        sets: &mut Sets,
        pipeline: &Pipeline,
        bound: &[Descriptor],
        push: &[u8],
        groups: [u32; 3],
    ) -> Result<(), DeviceError> {
        let all;
        let (mut bound, mut push) = (bound, push);
        if let Some(len) = pipeline.push_buffer() {
            all = with_argument(bound, self.passed.next(), len)?;
            (bound, push) = (&all, &push[..pipeline.push_bytes() as usize]);
        }
        self.note(|| format!("dispatch {groups:?} pipeline {}", pipeline.id()));
        self.counts.dispatches += 1;
        if self.bound != pipeline.handle() {
            // SAFETY: the command buffer is being recorded; the pipeline is alive and stays so (the command buffer keeps it).
            unsafe {
                (self.fns.v1_0.cmd_bind_pipeline)(self.to, vk::PipelineBindPoint::COMPUTE, pipeline.handle());
            }
            self.bound = pipeline.handle();
        }
        self.bind(sets, pipeline, bound)?;
        if !push.is_empty() {
            // SAFETY: the layout declares exactly these bytes for this stage (checked), and `push` outlives the call.
            unsafe {
                (self.fns.v1_0.cmd_push_constants)(
                    self.to,
                    pipeline.layout(),
                    vk::ShaderStageFlags::COMPUTE,
                    0,
                    push.len() as u32,
                    push.as_ptr().cast(),
                );
            }
        }
        let [x, y, z] = groups;
        // SAFETY: pipeline, descriptors and push constants are bound; the counts are within the limits (checked).
        unsafe { (self.fns.v1_0.cmd_dispatch)(self.to, x, y, z) };
        Ok(())
    }

    /// Binds buffers and images, through the templates that the pipeline was made with.
    fn bind(&self, sets: &mut Sets, pipeline: &Pipeline, bound: &[Descriptor]) -> Result<(), DeviceError> {
        let layout = pipeline.layout();
        for (number, set) in (0..).zip(pipeline.sets()).filter(|(_, set)| set.count > 0) {
            if set.pushed {
                let data = bound[set.first..set.first + set.count].as_ptr().cast();
                let push = self.fns.khr_push_descriptor.cmd_push_descriptor_set_with_template_khr;
                // SAFETY: the template was made for this set of this layout, which only happens with the extension on; it
                // takes as many buffers as there are from `data` on, and buffers and ranges were checked.
                unsafe { push(self.to, set.template, layout, number, data) };
                continue;
            }
            let target = sets.next(self.gpu, set)?;
            write(self.gpu, target, set, bound);
            // SAFETY: the set was made with the set layout of that number in `layout`.
            unsafe {
                (self.fns.v1_0.cmd_bind_descriptor_sets)(
                    self.to,
                    vk::PipelineBindPoint::COMPUTE,
                    layout,
                    number,
                    1,
                    &target,
                    0,
                    std::ptr::null(),
                );
            }
        }
        Ok(())
    }

    fn transfer(&mut self, command: &Command) {
        match command {
            Command::Copy { src, src_offset, dst, dst_offset, len } if *len > 0 => {
                self.note(|| format!("copy {len}"));
                self.counts.transfers += 1;
                let region = vk::BufferCopy::default()
                    .src_offset(src.base() + src_offset)
                    .dst_offset(dst.base() + dst_offset)
                    .size(*len);
                // SAFETY: the ranges lie inside their buffers and do not overlap (checked); the command buffer keeps both.
                unsafe {
                    (self.fns.v1_0.cmd_copy_buffer)(self.to, src.handle(), dst.handle(), 1, &region);
                }
            }
            Command::Fill { dst, offset, len, word } if *len > 0 => {
                self.note(|| format!("fill {len}"));
                self.counts.transfers += 1;
                let at = dst.base() + offset;
                // SAFETY: the range lies inside the buffer and is made of whole words (checked); the command buffer keeps it.
                unsafe {
                    (self.fns.v1_0.cmd_fill_buffer)(self.to, dst.handle(), at, *len, *word);
                }
            }
            Command::Update { dst, offset, bytes } if !bytes.is_empty() => {
                self.note(|| format!("update {}", bytes.len()));
                self.counts.transfers += 1;
                // SAFETY: the range lies inside the buffer, is made of whole words and within the call's limit
                // (checked); the bytes are copied by the call.
                unsafe {
                    (self.fns.v1_0.cmd_update_buffer)(
                        self.to,
                        dst.handle(),
                        dst.base() + offset,
                        bytes.len() as u64,
                        bytes.as_ptr().cast(),
                    );
                }
            }
            Command::Prepare { texture } => self.prepare(texture),
            Command::ToImage { src, dst } => {
                self.note(|| format!("copy to image {}", dst.bytes()));
                self.counts.transfers += 1;
                let region = whole_image(dst, src.base());
                // SAFETY: the buffer has as many bytes as the image (checked), which is in this layout from when it was
                // made; the command buffer keeps both.
                unsafe {
                    (self.fns.v1_0.cmd_copy_buffer_to_image)(
                        self.to,
                        src.handle(),
                        dst.handle(),
                        vk::ImageLayout::GENERAL,
                        1,
                        &region,
                    );
                }
            }
            Command::FromImage { src, dst } => {
                self.note(|| format!("copy from image {}", src.bytes()));
                self.counts.transfers += 1;
                let region = whole_image(src, dst.base());
                // SAFETY: as above.
                unsafe {
                    (self.fns.v1_0.cmd_copy_image_to_buffer)(
                        self.to,
                        src.handle(),
                        vk::ImageLayout::GENERAL,
                        dst.handle(),
                        1,
                        &region,
                    );
                }
            }
            // Nothing to move; Vulkan does not allow a transfer of no bytes.
            _ => {}
        }
    }
}

impl Recorder<'_> {
    /// Brings a new image into its layout, and fills it with zeros.
    fn prepare(&mut self, texture: &Texture) {
        self.note(|| "prepare image".to_owned());
        self.counts.transfers += 1;
        let whole = vk::ImageSubresourceRange::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .level_count(1)
            .layer_count(vk::REMAINING_ARRAY_LAYERS);
        let barriers = [vk::ImageMemoryBarrier2::default()
            .dst_stage_mask(TRANSFER)
            .dst_access_mask(vk::AccessFlags2::TRANSFER_WRITE)
            .old_layout(vk::ImageLayout::UNDEFINED)
            .new_layout(vk::ImageLayout::GENERAL)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .image(texture.handle())
            .subresource_range(whole)];
        let info = vk::DependencyInfo::default().image_memory_barriers(&barriers);
        // SAFETY: the command buffer is being recorded, `info` outlives the call, the image is new and kept by the command buffer.
        unsafe { (self.gpu.calls.barrier)(self.to, &info) };
        let zeros = texture.zeros();
        // SAFETY: the image is of colours, is in this layout by the barrier above, and was made for transfers.
        unsafe {
            (self.fns.v1_0.cmd_clear_color_image)(
                self.to,
                texture.handle(),
                vk::ImageLayout::GENERAL,
                &zeros,
                1,
                &whole,
            );
        }
    }
}

/// All texels of an image, without gaps in a buffer from a byte on.
fn whole_image(texture: &Texture, offset: u64) -> vk::BufferImageCopy {
    vk::BufferImageCopy::default()
        .buffer_offset(offset)
        .image_subresource(texture.layers())
        .image_extent(texture.extent())
}

const COMPUTE: vk::PipelineStageFlags2 = vk::PipelineStageFlags2::COMPUTE_SHADER;
const TRANSFER: vk::PipelineStageFlags2 = vk::PipelineStageFlags2::ALL_TRANSFER;

impl Barrier {
    fn in_words(self) -> &'static str {
        match self {
            Barrier::ComputeToCompute => "barrier ComputeToCompute",
            Barrier::ComputeToTransfer => "barrier ComputeToTransfer",
            Barrier::TransferToCompute => "barrier TransferToCompute",
            Barrier::TransferToTransfer => "barrier TransferToTransfer",
            Barrier::Full => "barrier Full",
        }
    }

    fn to_vk(self) -> vk::MemoryBarrier2<'static> {
        use vk::AccessFlags2 as A;
        let compute = (COMPUTE, A::SHADER_WRITE, A::SHADER_READ | A::SHADER_WRITE | A::UNIFORM_READ);
        let transfer = (TRANSFER, A::TRANSFER_WRITE, A::TRANSFER_READ | A::TRANSFER_WRITE);
        let all = (vk::PipelineStageFlags2::ALL_COMMANDS, A::MEMORY_WRITE, A::MEMORY_READ | A::MEMORY_WRITE);
        let (before, after) = match self {
            Barrier::ComputeToCompute => (compute, compute),
            Barrier::ComputeToTransfer => (compute, transfer),
            Barrier::TransferToCompute => (transfer, compute),
            Barrier::TransferToTransfer => (transfer, transfer),
            Barrier::Full => (all, all),
        };
        vk::MemoryBarrier2::default()
            .src_stage_mask(before.0)
            .src_access_mask(before.1)
            .dst_stage_mask(after.0)
            .dst_access_mask(after.2)
    }
}
