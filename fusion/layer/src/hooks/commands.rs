//! Command buffers and what is recorded into them for compute.
//!
//! # Safety
//! Called as the specification of the Vulkan functions says.
#![allow(unsafe_op_in_unsafe_fn)]

use super::creation::{UNREACHED, made};
use crate::chain::{self, command_buffer, device_of};
use crate::descriptors::{self, bytes, slice};
use crate::recording::{Bound, CommandBuffer, Part, Recorded, Recording};
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
            (*buffer, Arc::new(CommandBuffer { device: known.clone(), pool, recording }))
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

pub(super) unsafe extern "system" fn begin_command_buffer(
    buffer: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    made!("vkBeginCommandBuffer", buffer.begin_command_buffer(info), |_known| {
        if let Some(known) = command_buffer(buffer) {
            known.clear();
        }
    })
}

pub(super) unsafe extern "system" fn reset_command_buffer(
    buffer: vk::CommandBuffer,
    flags: vk::CommandBufferResetFlags,
) -> vk::Result {
    made!("vkResetCommandBuffer", buffer.reset_command_buffer(flags), |_known| {
        if let Some(known) = command_buffer(buffer) {
            known.clear();
        }
    })
}

/// Functions that record a command: passed on, and then noted.
macro_rules! command {
    ($($name:literal $hook:ident($($arg:ident: $kind:ty),*) |$known:ident| $body:expr;)*) => {$(
        #[allow(clippy::too_many_arguments)]
        pub(super) unsafe extern "system" fn $hook(buffer: vk::CommandBuffer, $($arg: $kind),*) {
            let Some($known) = command_buffer(buffer) else {
                // Allocated while the layer failed: only passed on.
                if let Some(next) = device_of(buffer).and_then(|device| device.next.$hook) {
                    next(buffer, $($arg),*);
                }
                return;
            };
            if let Some(next) = $known.device.next.$hook {
                next(buffer, $($arg),*);
            }
            noted($name, || $body);
        }
    )*};
}
pub(super) use command;

const COMPUTE: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;

fn is_compute(stages: vk::ShaderStageFlags) -> bool {
    stages.contains(vk::ShaderStageFlags::COMPUTE)
}

/// `vkCmdBindDescriptorSets` for compute.
fn bind(buffer: &CommandBuffer, first: u32, sets: &[vk::DescriptorSet], mut dynamic: &[u32]) {
    let objects = lock(&buffer.device.objects);
    let count = |set| objects.sets.get(set).map_or(0, |set| set.layout.dynamic().count());
    let counts: Vec<usize> = sets.iter().map(count).collect();
    drop(objects);
    buffer.set(|state| {
        for ((number, set), count) in (first..).zip(sets).zip(counts) {
            let (own, rest) = dynamic.split_at(count.min(dynamic.len()));
            dynamic = rest;
            state.sets.insert(number, Bound::Set { set: *set, dynamic: own.to_vec() });
        }
    });
}

fn push(buffer: &CommandBuffer, offset: u32, bytes: &[u8]) {
    buffer.set(|state| {
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        if state.push.len() < end {
            state.push.resize(end, 0);
        }
        state.push[start..end].copy_from_slice(bytes);
    });
}

/// Changes what was pushed as a set, which is there until a set is bound.
fn push_set(
    buffer: &CommandBuffer,
    layout: vk::PipelineLayout,
    set: u32,
    change: impl FnOnce(&mut descriptors::Contents, &descriptors::Layout),
) {
    let layout = lock(&buffer.device.objects).set_layout(layout, set);
    buffer.set(|state| {
        let mut contents = match state.sets.remove(&set) {
            Some(Bound::Pushed(contents)) => contents,
            _ => Arc::default(),
        };
        change(Arc::make_mut(&mut contents), &layout);
        state.sets.insert(set, Bound::Pushed(contents));
    });
}

unsafe fn push_template(
    buffer: &CommandBuffer,
    call: &str,
    template: vk::DescriptorUpdateTemplate,
    layout: vk::PipelineLayout,
    set: u32,
    data: *const c_void,
) {
    // Kept as its entries, for what follows takes the lock again.
    let template =
        lock(&buffer.device.objects).templates.get(&template).map(|it| descriptors::Template(it.0.clone()));
    let Some(template) = template else { return };
    push_set(buffer, layout, set, |contents, layout| template.apply(call, contents, layout, data));
}

fn barrier(buffer: &CommandBuffer, from: u64, to: u64, counts: [u32; 3]) {
    buffer.record(Recorded::Barrier { from, to, counts });
}

fn copy(
    buffer: &CommandBuffer,
    from: vk::Buffer,
    to: vk::Buffer,
    regions: impl Iterator<Item = (u64, u64, u64)>,
) {
    for (source, target, len) in regions {
        buffer.record(Recorded::Copy {
            from: Part { buffer: from, offset: source, len },
            to: Part { buffer: to, offset: target, len },
        });
    }
}

command! {
    "vkCmdBindPipeline" cmd_bind_pipeline(point: vk::PipelineBindPoint, pipeline: vk::Pipeline) |known| {
        if point == COMPUTE {
            known.set(|state| state.pipeline = pipeline);
        }
    };
    "vkCmdBindDescriptorSets" cmd_bind_descriptor_sets(
        point: vk::PipelineBindPoint, layout: vk::PipelineLayout, first: u32, count: u32,
        sets: *const vk::DescriptorSet, dynamic_count: u32, dynamic: *const u32
    ) |known| {
        if point == COMPUTE {
            bind(&known, first, slice(sets, count), slice(dynamic, dynamic_count));
        }
    };
    "vkCmdBindDescriptorSets2" cmd_bind_descriptor_sets2(info: *const vk::BindDescriptorSetsInfoKHR<'_>) |known| {
        let info = &*info;
        if is_compute(info.stage_flags) {
            let sets = slice(info.p_descriptor_sets, info.descriptor_set_count);
            bind(&known, info.first_set, sets, slice(info.p_dynamic_offsets, info.dynamic_offset_count));
        }
    };
    "vkCmdPushConstants" cmd_push_constants(
        layout: vk::PipelineLayout, stages: vk::ShaderStageFlags, offset: u32, size: u32, values: *const c_void
    ) |known| {
        if is_compute(stages) {
            push(&known, offset, slice(values.cast(), size));
        }
    };
    "vkCmdPushConstants2" cmd_push_constants2(info: *const vk::PushConstantsInfoKHR<'_>) |known| {
        let info = &*info;
        if is_compute(info.stage_flags) {
            push(&known, info.offset, slice(info.p_values.cast(), info.size));
        }
    };
    "vkCmdPushDescriptorSet" cmd_push_descriptor_set(
        point: vk::PipelineBindPoint, layout: vk::PipelineLayout, set: u32, count: u32,
        writes: *const vk::WriteDescriptorSet<'_>
    ) |known| {
        if point == COMPUTE {
            push_set(&known, layout, set, |contents, layout| {
                for write in slice(writes, count) {
                    descriptors::write("vkCmdPushDescriptorSet", contents, layout, write);
                }
            });
        }
    };
    "vkCmdPushDescriptorSet2" cmd_push_descriptor_set2(info: *const vk::PushDescriptorSetInfoKHR<'_>) |known| {
        let info = &*info;
        if is_compute(info.stage_flags) {
            push_set(&known, info.layout, info.set, |contents, layout| {
                for write in slice(info.p_descriptor_writes, info.descriptor_write_count) {
                    descriptors::write("vkCmdPushDescriptorSet2", contents, layout, write);
                }
            });
        }
    };
    "vkCmdPushDescriptorSetWithTemplate" cmd_push_descriptor_set_with_template(
        template: vk::DescriptorUpdateTemplate, layout: vk::PipelineLayout, set: u32, data: *const c_void
    ) |known| push_template(&known, "vkCmdPushDescriptorSetWithTemplate", template, layout, set, data);
    "vkCmdPushDescriptorSetWithTemplate2" cmd_push_descriptor_set_with_template2(
        info: *const vk::PushDescriptorSetWithTemplateInfoKHR<'_>
    ) |known| {
        let info = &*info;
        let (template, call) = (info.descriptor_update_template, "vkCmdPushDescriptorSetWithTemplate2");
        push_template(&known, call, template, info.layout, info.set, info.p_data);
    };
    "vkCmdDispatch" cmd_dispatch(x: u32, y: u32, z: u32) |known| known.dispatch([0; 3], [x, y, z]);
    "vkCmdDispatchBase" cmd_dispatch_base(bx: u32, by: u32, bz: u32, x: u32, y: u32, z: u32) |known| {
        known.dispatch([bx, by, bz], [x, y, z]);
    };
    "vkCmdDispatchIndirect" cmd_dispatch_indirect(counts: vk::Buffer, offset: vk::DeviceSize) |known| {
        known.indirect(Part { buffer: counts, offset, len: 12 });
    };
    "vkCmdCopyBuffer" cmd_copy_buffer(
        from: vk::Buffer, to: vk::Buffer, count: u32, regions: *const vk::BufferCopy
    ) |known| {
        let regions = slice(regions, count).iter();
        copy(&known, from, to, regions.map(|one| (one.src_offset, one.dst_offset, one.size)));
    };
    "vkCmdCopyBuffer2" cmd_copy_buffer2(info: *const vk::CopyBufferInfo2<'_>) |known| {
        let info = &*info;
        let regions = slice(info.p_regions, info.region_count).iter();
        let regions = regions.map(|one| (one.src_offset, one.dst_offset, one.size));
        copy(&known, info.src_buffer, info.dst_buffer, regions);
    };
    "vkCmdFillBuffer" cmd_fill_buffer(
        to: vk::Buffer, offset: vk::DeviceSize, len: vk::DeviceSize, value: u32
    ) |known| known.record(Recorded::Fill { to: Part { buffer: to, offset, len }, value });
    "vkCmdUpdateBuffer" cmd_update_buffer(
        to: vk::Buffer, offset: vk::DeviceSize, len: vk::DeviceSize, data: *const c_void
    ) |known| {
        let bytes = bytes(data, len as usize).to_vec();
        known.record(Recorded::Update { to: Part { buffer: to, offset, len }, bytes });
    };
    "vkCmdPipelineBarrier" cmd_pipeline_barrier(
        from: vk::PipelineStageFlags, to: vk::PipelineStageFlags, flags: vk::DependencyFlags,
        memory: u32, memories: *const vk::MemoryBarrier<'_>,
        buffer_count: u32, buffers: *const vk::BufferMemoryBarrier<'_>,
        image_count: u32, images: *const vk::ImageMemoryBarrier<'_>
    ) |known| {
        barrier(&known, from.as_raw().into(), to.as_raw().into(), [memory, buffer_count, image_count]);
    };
    "vkCmdPipelineBarrier2" cmd_pipeline_barrier2(info: *const vk::DependencyInfo<'_>) |known| {
        let info = &*info;
        let memories = slice(info.p_memory_barriers, info.memory_barrier_count).iter();
        let memories = memories.map(|one| (one.src_stage_mask, one.dst_stage_mask));
        let buffers = slice(info.p_buffer_memory_barriers, info.buffer_memory_barrier_count).iter();
        let buffers = buffers.map(|one| (one.src_stage_mask, one.dst_stage_mask));
        let images = slice(info.p_image_memory_barriers, info.image_memory_barrier_count).iter();
        let images = images.map(|one| (one.src_stage_mask, one.dst_stage_mask));
        let stages = memories.chain(buffers).chain(images);
        let (from, to) = stages.fold((0, 0), |(a, b), (from, to)| (a | from.as_raw(), b | to.as_raw()));
        let counts = [info.memory_barrier_count, info.buffer_memory_barrier_count, info.image_memory_barrier_count];
        barrier(&known, from, to, counts);
    };
    "vkCmdExecuteCommands" cmd_execute_commands(count: u32, buffers: *const vk::CommandBuffer) |known| {
        known.record(Recorded::Execute(slice(buffers, count).to_vec()));
    };
}
