//! Modules, pipelines, memory and buffers.
//!
//! # Safety
//! Called as the specification of the Vulkan functions says.
#![allow(unsafe_op_in_unsafe_fn)]

use crate::chain::{Device, chained, device_of, takes_contents};
use crate::descriptors::{Layout, bytes, slice};
use crate::fuse;
use crate::objects::{Buffer, Code, Memory, Pipeline};
use crate::role;
use crate::sink::{self, lock, noted};
use crate::trace::Event;
use ash::vk::{self, Handle};
use std::ffi::{CStr, c_void};
use std::sync::Arc;

/// What a call returns that cannot reach the next layer, which the loader does not let happen.
pub(super) const UNREACHED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;

/// Calls a function of the next layer, and then notes what it means if it was successful.
macro_rules! made {
    ($name:literal, $device:ident.$next:ident($($arg:expr),*), |$known:ident| $body:expr) => {{
        let Some($known) = device_of($device) else { return UNREACHED };
        let Some(next) = $known.next.$next else { return UNREACHED };
        let result = next($device, $($arg),*);
        if result.as_raw() >= 0 {
            noted($name, || $body);
        }
        result
    }};
}
pub(super) use made;

pub(super) unsafe extern "system" fn get_device_queue(
    device: vk::Device,
    family: u32,
    index: u32,
    queue: *mut vk::Queue,
) {
    let Some(known) = device_of(device) else { return };
    let Some(next) = known.next.get_device_queue else { return };
    next(device, family, index, queue);
    noted("vkGetDeviceQueue", || note_queue(&known, *queue, family));
}

pub(super) unsafe extern "system" fn get_device_queue2(
    device: vk::Device,
    info: *const vk::DeviceQueueInfo2<'_>,
    queue: *mut vk::Queue,
) {
    let Some(known) = device_of(device) else { return };
    let Some(next) = known.next.get_device_queue2 else { return };
    next(device, info, queue);
    noted("vkGetDeviceQueue2", || note_queue(&known, *queue, (*info).queue_family_index));
}

fn note_queue(device: &Device, queue: vk::Queue, family: u32) {
    if !queue.is_null() {
        lock(&device.queues).entry(queue).or_insert_with(|| (family, sink::number()));
    }
}

unsafe fn code(info: &vk::ShaderModuleCreateInfo<'_>) -> Arc<Code> {
    Arc::new(if role::fuses() {
        Code { hash: String::new(), words: slice(info.p_code, (info.code_size / 4) as u32).to_vec() }
    } else {
        Code { hash: sink::module(bytes(info.p_code, info.code_size)), words: Vec::new() }
    })
}

pub(super) unsafe extern "system" fn create_shader_module(
    device: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    module: *mut vk::ShaderModule,
) -> vk::Result {
    made!("vkCreateShaderModule", device.create_shader_module(info, allocator, module), |known| {
        let code = code(&*info);
        lock(&known.objects).modules.insert(*module, code);
    })
}

pub(super) unsafe extern "system" fn create_compute_pipelines(
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    let name = "vkCreateComputePipelines";
    made!(
        "vkCreateComputePipelines",
        device.create_compute_pipelines(cache, count, infos, allocator, pipelines),
        |known| {
            let made = slice(pipelines.cast_const(), count);
            for (info, pipeline) in slice(infos, count).iter().zip(made) {
                if pipeline.is_null() {
                    continue;
                }
                let stage = &info.stage;
                let own = chained::<vk::ShaderModuleCreateInfo<'_>>(
                    stage.p_next,
                    vk::StructureType::SHADER_MODULE_CREATE_INFO,
                );
                let code = match own {
                    Some(own) if stage.module.is_null() => Some(code(&*own)),
                    _ => lock(&known.objects).modules.get(&stage.module).cloned(),
                };
                if code.is_none() {
                    sink::missing(name, "module by its identifier");
                }
                let size = chained::<vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo<'_>>(
                    stage.p_next,
                    vk::StructureType::PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
                );
                let made = Arc::new(Pipeline {
                    id: sink::number(),
                    code,
                    entry: CStr::from_ptr(stage.p_name).to_string_lossy().into_owned(),
                    spec: specialization(stage.p_specialization_info.as_ref()),
                    subgroup_size: size.map_or(0, |size| (*size).required_subgroup_size),
                    problem: if role::fuses() { fuse::problem(&known, info) } else { None },
                });
                let mut objects = lock(&known.objects);
                objects.pipelines.insert(*pipeline, made.clone());
                objects.version += 1;
                drop(objects);
                known.gate.tell();
                if role::fuses() {
                    continue;
                }
                let spec = made.spec.iter().map(|(id, bytes)| (*id, sink::hex(bytes)));
                sink::emit(&Event::Pipeline {
                    id: made.id,
                    module: made.code.as_ref().map(|code| code.hash.clone()).unwrap_or_default(),
                    entry: made.entry.clone(),
                    subgroup_size: made.subgroup_size,
                    spec: spec.collect(),
                });
            }
        }
    )
}

/// A pipeline, a module or a pipeline's layout is no more.
pub(super) unsafe extern "system" fn destroy_pipeline(
    device: vk::Device,
    pipeline: vk::Pipeline,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let Some(known) = device_of(device) else { return };
    noted("vkDestroyPipeline", || drop(lock(&known.objects).pipelines.remove(&pipeline)));
    if let Some(next) = known.next.destroy_pipeline {
        next(device, pipeline, allocator);
    }
}

pub(super) unsafe extern "system" fn destroy_shader_module(
    device: vk::Device,
    module: vk::ShaderModule,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let Some(known) = device_of(device) else { return };
    noted("vkDestroyShaderModule", || drop(lock(&known.objects).modules.remove(&module)));
    if let Some(next) = known.next.destroy_shader_module {
        next(device, module, allocator);
    }
}

pub(super) unsafe extern "system" fn destroy_pipeline_layout(
    device: vk::Device,
    layout: vk::PipelineLayout,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let Some(known) = device_of(device) else { return };
    noted("vkDestroyPipelineLayout", || {
        let mut objects = lock(&known.objects);
        if objects.layouts.remove(&layout).is_some() {
            objects.layouts_gone += 1;
        }
    });
    if let Some(next) = known.next.destroy_pipeline_layout {
        next(device, layout, allocator);
    }
}

unsafe fn specialization(info: Option<&vk::SpecializationInfo<'_>>) -> Vec<(u32, Vec<u8>)> {
    let Some(info) = info else { return Vec::new() };
    let data = bytes(info.p_data, info.data_size);
    let entries = slice(info.p_map_entries, info.map_entry_count).iter();
    let value = |entry: &vk::SpecializationMapEntry| {
        let bytes = data.get(entry.offset as usize..)?.get(..entry.size)?;
        Some((entry.constant_id, bytes.to_vec()))
    };
    entries.filter_map(value).collect()
}

pub(super) unsafe extern "system" fn create_pipeline_layout(
    device: vk::Device,
    info: *const vk::PipelineLayoutCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    layout: *mut vk::PipelineLayout,
) -> vk::Result {
    made!("vkCreatePipelineLayout", device.create_pipeline_layout(info, allocator, layout), |known| {
        let mut objects = lock(&known.objects);
        let sets = slice((*info).p_set_layouts, (*info).set_layout_count).iter();
        let sets: Vec<Arc<Layout>> =
            sets.map(|set| objects.set_layouts.get(set).cloned().unwrap_or_default()).collect();
        objects.layouts.insert(*layout, sets);
    })
}

/// Of an extension of the instance: a layer may be the last that has it.
pub(super) unsafe extern "system" fn set_debug_utils_object_name(
    device: vk::Device,
    info: *const vk::DebugUtilsObjectNameInfoEXT<'_>,
) -> vk::Result {
    let Some(known) = device_of(device) else { return UNREACHED };
    let result =
        known.next.set_debug_utils_object_name.map_or(vk::Result::SUCCESS, |next| next(device, info));
    noted("vkSetDebugUtilsObjectNameEXT", || {
        if (*info).object_type == vk::ObjectType::PIPELINE && !(*info).p_object_name.is_null() {
            let pipeline = vk::Pipeline::from_raw((*info).object_handle);
            let id = lock(&known.objects).pipelines.get(&pipeline).map(|one| one.id);
            let name = CStr::from_ptr((*info).p_object_name).to_string_lossy().into_owned();
            if let Some(pipeline) = id {
                sink::emit(&Event::Name { pipeline, name });
            }
        }
    });
    result
}

/// Whether memory is what something else made: only what is chained to its allocation here is known to make it new.
unsafe fn is_imported(chain: *const c_void) -> bool {
    const OWN: [vk::StructureType; 5] = [
        vk::StructureType::MEMORY_ALLOCATE_FLAGS_INFO,
        vk::StructureType::MEMORY_DEDICATED_ALLOCATE_INFO,
        vk::StructureType::MEMORY_PRIORITY_ALLOCATE_INFO_EXT,
        vk::StructureType::EXPORT_MEMORY_ALLOCATE_INFO,
        vk::StructureType::MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO,
    ];
    let mut at = chain.cast::<vk::BaseInStructure<'_>>();
    while !at.is_null() {
        if !OWN.contains(&(*at).s_type) {
            return true;
        }
        at = (*at).p_next;
    }
    false
}

pub(super) unsafe extern "system" fn allocate_memory(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    made!("vkAllocateMemory", device.allocate_memory(info, allocator, memory), |known| {
        let id = sink::number();
        let is_imported = is_imported((*info).p_next);
        lock(&known.objects).memories.insert(*memory, Memory { id, is_imported });
        let kind = known.memory.memory_types[(*info).memory_type_index as usize];
        let visible = kind.property_flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE);
        sink::emit(&Event::Memory { id, size: (*info).allocation_size, visible });
    })
}

pub(super) unsafe extern "system" fn free_memory(
    device: vk::Device,
    memory: vk::DeviceMemory,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let Some(known) = device_of(device) else { return };
    noted("vkFreeMemory", || {
        if let Some(memory) = lock(&known.objects).memories.remove(&memory) {
            sink::emit(&Event::MemoryGone { memory: memory.id });
        }
    });
    if let Some(next) = known.next.free_memory {
        next(device, memory, allocator);
    }
}

fn note_mapped(device: &Device, memory: vk::DeviceMemory) {
    if let Some(memory) = lock(&device.objects).memories.get(&memory).copied() {
        sink::emit(&Event::Mapped { memory: memory.id });
    }
}

pub(super) unsafe extern "system" fn map_memory(
    device: vk::Device,
    memory: vk::DeviceMemory,
    offset: vk::DeviceSize,
    size: vk::DeviceSize,
    flags: vk::MemoryMapFlags,
    data: *mut *mut c_void,
) -> vk::Result {
    made!("vkMapMemory", device.map_memory(memory, offset, size, flags, data), |known| {
        note_mapped(&known, memory);
    })
}

pub(super) unsafe extern "system" fn map_memory2(
    device: vk::Device,
    info: *const vk::MemoryMapInfoKHR<'_>,
    data: *mut *mut c_void,
) -> vk::Result {
    made!("vkMapMemory2", device.map_memory2(info, data), |known| note_mapped(&known, (*info).memory))
}

/// Where contents are asked for, buffers can be copied from.
pub(super) unsafe extern "system" fn create_buffer(
    device: vk::Device,
    info: *const vk::BufferCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    buffer: *mut vk::Buffer,
) -> vk::Result {
    // What `VkBufferUsageFlags2CreateInfo` says stands instead of the usage.
    let usage2 = vk::StructureType::from_raw(1_000_470_006);
    let is_plain = chained::<vk::BaseInStructure<'_>>((*info).p_next, usage2).is_none()
        && !(*info).flags.contains(vk::BufferCreateFlags::PROTECTED);
    let mut own = *info;
    if takes_contents() && is_plain {
        own.usage |= vk::BufferUsageFlags::TRANSFER_SRC;
    }
    made!("vkCreateBuffer", device.create_buffer(&own, allocator, buffer), |known| {
        let id = sink::number();
        let is_readable = is_plain && own.usage.contains(vk::BufferUsageFlags::TRANSFER_SRC);
        let is_whole = (*info).flags.is_empty();
        let made = Buffer { id, size: own.size, is_plain: is_whole, memory: None, is_readable };
        let mut objects = lock(&known.objects);
        objects.buffers.insert(*buffer, made);
        objects.version += 1;
        drop(objects);
        sink::emit(&Event::Buffer { id, size: own.size, usage: (*info).usage.as_raw() });
    })
}

pub(super) unsafe extern "system" fn destroy_buffer(
    device: vk::Device,
    buffer: vk::Buffer,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let Some(known) = device_of(device) else { return };
    noted("vkDestroyBuffer", || {
        if let Some(gone) = lock(&known.objects).buffers.remove(&buffer) {
            fuse::buffer_gone(&known, gone.id);
            sink::emit(&Event::BufferGone { buffer: gone.id });
        }
    });
    if let Some(next) = known.next.destroy_buffer {
        next(device, buffer, allocator);
    }
}

fn note_bound(device: &Device, buffer: vk::Buffer, memory: vk::DeviceMemory, at: u64) {
    let mut objects = lock(&device.objects);
    objects.version += 1;
    let Some(memory) = objects.memories.get(&memory).copied() else { return };
    let Some(bound) = objects.buffers.get_mut(&buffer) else { return };
    bound.memory = Some((memory.id, at));
    bound.is_plain &= !memory.is_imported;
    sink::emit(&Event::Bind { buffer: bound.id, memory: memory.id, at });
}

pub(super) unsafe extern "system" fn bind_buffer_memory(
    device: vk::Device,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    offset: vk::DeviceSize,
) -> vk::Result {
    made!("vkBindBufferMemory", device.bind_buffer_memory(buffer, memory, offset), |known| {
        note_bound(&known, buffer, memory, offset);
    })
}

pub(super) unsafe extern "system" fn bind_buffer_memory2(
    device: vk::Device,
    count: u32,
    infos: *const vk::BindBufferMemoryInfo<'_>,
) -> vk::Result {
    made!("vkBindBufferMemory2", device.bind_buffer_memory2(count, infos), |known| {
        for info in slice(infos, count) {
            note_bound(&known, info.buffer, info.memory, info.memory_offset);
        }
    })
}

pub(super) unsafe extern "system" fn get_buffer_device_address(
    device: vk::Device,
    info: *const vk::BufferDeviceAddressInfo<'_>,
) -> vk::DeviceAddress {
    let Some(known) = device_of(device) else { return 0 };
    let Some(next) = known.next.get_buffer_device_address else { return 0 };
    noted("vkGetBufferDeviceAddress", || {
        sink::missing("vkGetBufferDeviceAddress", "what kernels reach by addresses");
    });
    next(device, info)
}
