//! Command buffers and what is recorded into them for compute.
//!
//! # Safety
//! Called as the specification of the Vulkan functions says.
#![allow(unsafe_op_in_unsafe_fn)]

use super::creation::{UNREACHED, made};
use crate::chain::{self, device_of};
use crate::descriptors::{self, bytes, slice};
use crate::gate;
use crate::recording::{Barriers, CommandBuffer, Op, Part, Recording};
use crate::role;
use crate::sink::{lock, noted};
use ash::vk;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

pub(super) unsafe extern "system" fn allocate_command_buffers(
    device: vk::Device,
    info: *const vk::CommandBufferAllocateInfo<'_>,
    buffers: *mut vk::CommandBuffer,
) -> vk::Result {
    made!("vkAllocateCommandBuffers", device.allocate_command_buffers(info, buffers), |known| {
        let pool = (*info).command_pool;
        let made = slice(buffers.cast_const(), (*info).command_buffer_count).iter();
        chain::add_command_buffers(made.map(|buffer| {
            let recording = Mutex::new(Recording::default());
            let is_primary = (*info).level == vk::CommandBufferLevel::PRIMARY;
            (*buffer, Arc::new(CommandBuffer { device: known.clone(), pool, is_primary, recording }))
        }));
    })
}

pub(super) unsafe extern "system" fn free_command_buffers(
    device: vk::Device,
    pool: vk::CommandPool,
    count: u32,
    buffers: *const vk::CommandBuffer,
) {
    let Some(known) = device_of(device) else { return };
    noted("vkFreeCommandBuffers", || {
        let gone = slice(buffers, count);
        chain::drop_command_buffers(|buffer, _| gone.contains(&buffer));
    });
    if let Some(next) = known.next.free_command_buffers {
        next(device, pool, count, buffers);
    }
}

pub(super) unsafe extern "system" fn destroy_command_pool(
    device: vk::Device,
    pool: vk::CommandPool,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let Some(known) = device_of(device) else { return };
    noted("vkDestroyCommandPool", || {
        chain::drop_command_buffers(|_, buffer| buffer.pool == pool && Arc::ptr_eq(&buffer.device, &known));
    });
    if let Some(next) = known.next.destroy_command_pool {
        next(device, pool, allocator);
    }
}

/// What its command buffers hold goes when they are begun again.
pub(super) unsafe extern "system" fn reset_command_pool(
    device: vk::Device,
    pool: vk::CommandPool,
    flags: vk::CommandPoolResetFlags,
) -> vk::Result {
    made!("vkResetCommandPool", device.reset_command_pool(pool, flags), |_known| ())
}

/// Functions that begin, end and reset a command buffer.
macro_rules! recording {
    ($hook:ident($buffer:ident $(, $arg:expr)*), |$known:ident| $body:expr) => {{
        let of_gate = gate::of($buffer).next.$hook;
        let Some(next) = of_gate.or_else(|| device_of($buffer)?.next.$hook) else { return UNREACHED };
        let result = next($buffer, $($arg),*);
        if result.as_raw() >= 0 {
            chain::follow($buffer, |$known| noted(stringify!($hook), || $body));
        }
        result
    }};
}

pub(super) unsafe extern "system" fn begin_command_buffer(
    buffer: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    recording!(begin_command_buffer(buffer, info), |known| known.begin((*info).flags))
}

pub(super) unsafe extern "system" fn end_command_buffer(buffer: vk::CommandBuffer) -> vk::Result {
    recording!(end_command_buffer(buffer), |known| known.end())
}

pub(super) unsafe extern "system" fn reset_command_buffer(
    buffer: vk::CommandBuffer,
    flags: vk::CommandBufferResetFlags,
) -> vk::Result {
    recording!(reset_command_buffer(buffer, flags), |known| known.clear())
}

/// Functions that record a command: passed on, and then noted where the device is followed.
macro_rules! command {
    ($($name:literal $hook:ident($($arg:ident: $kind:ty),*) |$known:ident| $body:expr;)*) => {$(
        #[allow(clippy::too_many_arguments)]
        pub(super) unsafe extern "system" fn $hook(buffer: vk::CommandBuffer, $($arg: $kind),*) {
            #[inline(never)]
            unsafe extern "system" fn follow(buffer: vk::CommandBuffer, $($arg: $kind),*) {
                let of_gate = gate::of(buffer).next.$hook;
                if let Some(next) = of_gate.or_else(|| device_of(buffer)?.next.$hook) {
                    next(buffer, $($arg),*);
                }
                chain::follow(buffer, |$known| noted($name, || $body));
            }
            let gate = gate::of(buffer);
            match gate.next.$hook {
                // A jump, without a frame of its own.
                Some(next) if gate.is_closed() => next(buffer, $($arg),*),
                _ => follow(buffer, $($arg),*),
            }
        }
    )*};
}
pub(super) use command;

const COMPUTE: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;

fn is_compute(stages: vk::ShaderStageFlags) -> bool {
    stages.contains(vk::ShaderStageFlags::COMPUTE)
}

/// A layout that is not an object, but chained to a call: such a call is not made again.
fn has_no_layout(buffer: &CommandBuffer, call: &'static str, layout: vk::PipelineLayout) -> bool {
    let has_none = role::fuses() && layout == vk::PipelineLayout::null();
    if has_none {
        buffer.record(Op::Unlisted(call));
    }
    has_none
}

/// Changes what was pushed as a set, which has this layout.
fn push_set(
    buffer: &CommandBuffer,
    (layout, set, of_set): (vk::PipelineLayout, u32, Arc<descriptors::Layout>),
    change: impl FnOnce(&mut descriptors::Contents, &descriptors::Layout),
) {
    let mut writes = descriptors::Contents::new();
    change(&mut writes, &of_set);
    buffer.record(Op::PushSet { layout, set, writes: Arc::new(writes) });
}

fn layout_of(
    buffer: &CommandBuffer,
    layout: vk::PipelineLayout,
    set: u32,
) -> (vk::PipelineLayout, u32, Arc<descriptors::Layout>) {
    (layout, set, lock(&buffer.device.objects).set_layout(layout, set))
}

unsafe fn push_template(
    buffer: &CommandBuffer,
    call: &str,
    template: vk::DescriptorUpdateTemplate,
    layout: vk::PipelineLayout,
    set: u32,
    data: *const c_void,
) {
    // What follows takes the lock again.
    let objects = lock(&buffer.device.objects);
    let (template, of_set) = (objects.templates.get(&template).cloned(), objects.set_layout(layout, set));
    drop(objects);
    let Some(template) = template else { return };
    push_set(buffer, (layout, set, of_set), |contents, layout| template.apply(call, contents, layout, data));
}

/// `vkCmdPipelineBarrier`.
unsafe fn barriers(
    stages: (vk::PipelineStageFlags, vk::PipelineStageFlags),
    flags: vk::DependencyFlags,
    memories: &[vk::MemoryBarrier<'_>],
    buffers: &[vk::BufferMemoryBarrier<'_>],
    images: u32,
) -> Barriers {
    // Access flags have the same numbers in both versions of barriers.
    let access = |flags: vk::AccessFlags| vk::AccessFlags2::from_raw(flags.as_raw().into());
    let memory = memories.iter().map(|one| {
        let made = vk::MemoryBarrier2::default().src_access_mask(access(one.src_access_mask));
        made.dst_access_mask(access(one.dst_access_mask))
    });
    let parts = buffers.iter().map(|one| vk::BufferMemoryBarrier2 {
        src_access_mask: access(one.src_access_mask),
        dst_access_mask: access(one.dst_access_mask),
        src_queue_family_index: one.src_queue_family_index,
        dst_queue_family_index: one.dst_queue_family_index,
        buffer: one.buffer,
        offset: one.offset,
        size: one.size,
        ..vk::BufferMemoryBarrier2::default()
    });
    let is_extended =
        memories.iter().any(|one| !one.p_next.is_null()) || buffers.iter().any(|one| !one.p_next.is_null());
    let (memory, buffers) = (memory.collect(), parts.collect());
    Barriers { stages: Some(stages), flags, memory, buffers, images, is_extended }
}

/// `vkCmdPipelineBarrier2`.
unsafe fn barriers2(info: &vk::DependencyInfo<'_>) -> Barriers {
    let memories = slice(info.p_memory_barriers, info.memory_barrier_count);
    let buffers = slice(info.p_buffer_memory_barriers, info.buffer_memory_barrier_count);
    let is_extended = !info.p_next.is_null()
        || memories.iter().any(|one| !one.p_next.is_null())
        || buffers.iter().any(|one| !one.p_next.is_null());
    let memory = memories.iter().map(|one| vk::MemoryBarrier2 {
        src_stage_mask: one.src_stage_mask,
        src_access_mask: one.src_access_mask,
        dst_stage_mask: one.dst_stage_mask,
        dst_access_mask: one.dst_access_mask,
        ..vk::MemoryBarrier2::default()
    });
    let parts = buffers.iter().map(|one| vk::BufferMemoryBarrier2 {
        src_stage_mask: one.src_stage_mask,
        src_access_mask: one.src_access_mask,
        dst_stage_mask: one.dst_stage_mask,
        dst_access_mask: one.dst_access_mask,
        src_queue_family_index: one.src_queue_family_index,
        dst_queue_family_index: one.dst_queue_family_index,
        buffer: one.buffer,
        offset: one.offset,
        size: one.size,
        ..vk::BufferMemoryBarrier2::default()
    });
    let (memory, buffers) = (memory.collect(), parts.collect());
    let (flags, images) = (info.dependency_flags, info.image_memory_barrier_count);
    Barriers { stages: None, flags, memory, buffers, images, is_extended }
}

unsafe fn copy(
    buffer: &CommandBuffer,
    from: vk::Buffer,
    to: vk::Buffer,
    regions: impl Iterator<Item = (u64, u64, u64)>,
) {
    buffer.record(Op::Copy { from, to, regions: regions.collect() });
}

command! {
    "vkCmdBindPipeline" cmd_bind_pipeline(point: vk::PipelineBindPoint, pipeline: vk::Pipeline) |known| {
        if point == COMPUTE {
            known.record(Op::Pipeline(pipeline));
        }
    };
    "vkCmdBindDescriptorSets" cmd_bind_descriptor_sets(
        point: vk::PipelineBindPoint, layout: vk::PipelineLayout, first: u32, count: u32,
        sets: *const vk::DescriptorSet, dynamic_count: u32, dynamic: *const u32
    ) |known| {
        if point == COMPUTE {
            let (sets, dynamic) = (slice(sets, count).into(), slice(dynamic, dynamic_count).into());
            known.record(Op::Sets { layout, first, sets, dynamic });
        }
    };
    "vkCmdBindDescriptorSets2" cmd_bind_descriptor_sets2(info: *const vk::BindDescriptorSetsInfoKHR<'_>) |known| {
        let info = &*info;
        if is_compute(info.stage_flags) && !has_no_layout(known, "vkCmdBindDescriptorSets2", info.layout) {
            let sets = slice(info.p_descriptor_sets, info.descriptor_set_count).into();
            let dynamic = slice(info.p_dynamic_offsets, info.dynamic_offset_count).into();
            known.record(Op::Sets { layout: info.layout, first: info.first_set, sets, dynamic });
        }
    };
    "vkCmdPushConstants" cmd_push_constants(
        layout: vk::PipelineLayout, stages: vk::ShaderStageFlags, offset: u32, size: u32, values: *const c_void
    ) |known| {
        if is_compute(stages) {
            known.record(Op::Push { layout, stages, offset, bytes: slice(values.cast(), size).into() });
        }
    };
    "vkCmdPushConstants2" cmd_push_constants2(info: *const vk::PushConstantsInfoKHR<'_>) |known| {
        let info = &*info;
        if is_compute(info.stage_flags) && !has_no_layout(known, "vkCmdPushConstants2", info.layout) {
            let (stages, bytes) = (info.stage_flags, slice(info.p_values.cast(), info.size).into());
            known.record(Op::Push { layout: info.layout, stages, offset: info.offset, bytes });
        }
    };
    "vkCmdPushDescriptorSet" cmd_push_descriptor_set(
        point: vk::PipelineBindPoint, layout: vk::PipelineLayout, set: u32, count: u32,
        writes: *const vk::WriteDescriptorSet<'_>
    ) |known| {
        if point == COMPUTE {
            push_set(known, layout_of(known, layout, set), |contents, layout| {
                for write in slice(writes, count) {
                    descriptors::write("vkCmdPushDescriptorSet", contents, layout, write);
                }
            });
        }
    };
    "vkCmdPushDescriptorSet2" cmd_push_descriptor_set2(info: *const vk::PushDescriptorSetInfoKHR<'_>) |known| {
        let info = &*info;
        if is_compute(info.stage_flags) && !has_no_layout(known, "vkCmdPushDescriptorSet2", info.layout) {
            push_set(known, layout_of(known, info.layout, info.set), |contents, layout| {
                for write in slice(info.p_descriptor_writes, info.descriptor_write_count) {
                    descriptors::write("vkCmdPushDescriptorSet2", contents, layout, write);
                }
            });
        }
    };
    "vkCmdPushDescriptorSetWithTemplate" cmd_push_descriptor_set_with_template(
        template: vk::DescriptorUpdateTemplate, layout: vk::PipelineLayout, set: u32, data: *const c_void
    ) |known| push_template(known, "vkCmdPushDescriptorSetWithTemplate", template, layout, set, data);
    "vkCmdPushDescriptorSetWithTemplate2" cmd_push_descriptor_set_with_template2(
        info: *const vk::PushDescriptorSetWithTemplateInfoKHR<'_>
    ) |known| {
        let info = &*info;
        let (template, call) = (info.descriptor_update_template, "vkCmdPushDescriptorSetWithTemplate2");
        if !has_no_layout(known, call, info.layout) {
            push_template(known, call, template, info.layout, info.set, info.p_data);
        }
    };
    "vkCmdDispatch" cmd_dispatch(x: u32, y: u32, z: u32) |known| {
        known.record(Op::Dispatch { base: [0; 3], groups: [x, y, z] });
    };
    "vkCmdDispatchBase" cmd_dispatch_base(bx: u32, by: u32, bz: u32, x: u32, y: u32, z: u32) |known| {
        known.record(Op::Dispatch { base: [bx, by, bz], groups: [x, y, z] });
    };
    "vkCmdDispatchIndirect" cmd_dispatch_indirect(counts: vk::Buffer, offset: vk::DeviceSize) |known| {
        known.record(Op::Indirect(Part { buffer: counts, offset, len: 12 }));
    };
    "vkCmdCopyBuffer" cmd_copy_buffer(
        from: vk::Buffer, to: vk::Buffer, count: u32, regions: *const vk::BufferCopy
    ) |known| {
        let regions = slice(regions, count).iter();
        copy(known, from, to, regions.map(|one| (one.src_offset, one.dst_offset, one.size)));
    };
    "vkCmdCopyBuffer2" cmd_copy_buffer2(info: *const vk::CopyBufferInfo2<'_>) |known| {
        let info = &*info;
        let regions = slice(info.p_regions, info.region_count).iter();
        let regions = regions.map(|one| (one.src_offset, one.dst_offset, one.size));
        copy(known, info.src_buffer, info.dst_buffer, regions);
    };
    "vkCmdFillBuffer" cmd_fill_buffer(
        to: vk::Buffer, offset: vk::DeviceSize, len: vk::DeviceSize, value: u32
    ) |known| known.record(Op::Fill { to: Part { buffer: to, offset, len }, value });
    "vkCmdUpdateBuffer" cmd_update_buffer(
        to: vk::Buffer, offset: vk::DeviceSize, len: vk::DeviceSize, data: *const c_void
    ) |known| {
        let bytes = bytes(data, len as usize).into();
        known.record(Op::Update { to: Part { buffer: to, offset, len }, bytes });
    };
    "vkCmdPipelineBarrier" cmd_pipeline_barrier(
        from: vk::PipelineStageFlags, to: vk::PipelineStageFlags, flags: vk::DependencyFlags,
        memory: u32, memories: *const vk::MemoryBarrier<'_>,
        buffer_count: u32, buffers: *const vk::BufferMemoryBarrier<'_>,
        image_count: u32, images: *const vk::ImageMemoryBarrier<'_>
    ) |known| {
        let (memories, buffers) = (slice(memories, memory), slice(buffers, buffer_count));
        let made = barriers((from, to), flags, memories, buffers, image_count);
        known.barrier(made);
    };
    "vkCmdPipelineBarrier2" cmd_pipeline_barrier2(info: *const vk::DependencyInfo<'_>) |known| {
        known.barrier(barriers2(&*info));
    };
    "vkCmdExecuteCommands" cmd_execute_commands(count: u32, buffers: *const vk::CommandBuffer) |known| {
        known.record(Op::Execute(slice(buffers, count).into()));
    };
}
