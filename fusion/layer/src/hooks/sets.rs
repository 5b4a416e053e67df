//! Descriptor sets.
//!
//! # Safety
//! Called as the specification of the Vulkan functions says.
#![allow(unsafe_op_in_unsafe_fn)]

use super::creation::{UNREACHED, made};
use crate::chain::device_of;
use crate::descriptors::{self, Layout, Set, Template, slice};
use crate::gate;
use crate::sink::{lock, noted};
use ash::vk;
use std::ffi::c_void;
use std::sync::Arc;

pub(super) unsafe extern "system" fn create_descriptor_set_layout(
    device: vk::Device,
    info: *const vk::DescriptorSetLayoutCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    layout: *mut vk::DescriptorSetLayout,
) -> vk::Result {
    made!(
        "vkCreateDescriptorSetLayout",
        device.create_descriptor_set_layout(info, allocator, layout),
        |known| {
            let made = Arc::new(Layout::of(&*info));
            lock(&known.objects).set_layouts.insert(*layout, made);
        }
    )
}

pub(super) unsafe extern "system" fn allocate_descriptor_sets(
    device: vk::Device,
    info: *const vk::DescriptorSetAllocateInfo<'_>,
    sets: *mut vk::DescriptorSet,
) -> vk::Result {
    made!("vkAllocateDescriptorSets", device.allocate_descriptor_sets(info, sets), |known| {
        let mut objects = lock(&known.objects);
        objects.version += 1;
        let count = (*info).descriptor_set_count;
        let made = slice(sets.cast_const(), count);
        for (set, layout) in made.iter().zip(slice((*info).p_set_layouts, count)) {
            let layout = objects.set_layouts.get(layout).cloned().unwrap_or_default();
            objects.sets.insert(*set, Set { layout, contents: descriptors::Contents::new() });
        }
        objects.pools.entry((*info).descriptor_pool).or_default().extend(made);
    })
}

pub(super) unsafe extern "system" fn free_descriptor_sets(
    device: vk::Device,
    pool: vk::DescriptorPool,
    count: u32,
    sets: *const vk::DescriptorSet,
) -> vk::Result {
    made!("vkFreeDescriptorSets", device.free_descriptor_sets(pool, count, sets), |known| {
        let mut objects = lock(&known.objects);
        let gone = slice(sets, count);
        gone.iter().for_each(|set| drop(objects.sets.remove(set)));
        objects.pools.entry(pool).or_default().retain(|set| !gone.contains(set));
    })
}

pub(super) unsafe extern "system" fn reset_descriptor_pool(
    device: vk::Device,
    pool: vk::DescriptorPool,
    flags: vk::DescriptorPoolResetFlags,
) -> vk::Result {
    made!("vkResetDescriptorPool", device.reset_descriptor_pool(pool, flags), |known| {
        lock(&known.objects).empty(pool);
    })
}

pub(super) unsafe extern "system" fn destroy_descriptor_pool(
    device: vk::Device,
    pool: vk::DescriptorPool,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let Some(known) = device_of(device) else { return };
    noted("vkDestroyDescriptorPool", || lock(&known.objects).empty(pool));
    if let Some(next) = known.next.destroy_descriptor_pool {
        next(device, pool, allocator);
    }
}

pub(super) unsafe extern "system" fn update_descriptor_sets(
    device: vk::Device,
    write_count: u32,
    writes: *const vk::WriteDescriptorSet<'_>,
    copy_count: u32,
    copies: *const vk::CopyDescriptorSet<'_>,
) {
    let gate = gate::of(device);
    if gate.misses_sets()
        && let Some(next) = gate.next.update_descriptor_sets
    {
        return next(device, write_count, writes, copy_count, copies);
    }
    let Some(known) = device_of(device) else { return };
    let Some(next) = known.next.update_descriptor_sets else { return };
    next(device, write_count, writes, copy_count, copies);
    noted("vkUpdateDescriptorSets", || {
        let mut objects = lock(&known.objects);
        objects.version += 1;
        known.gate.updated();
        for write in slice(writes, write_count) {
            let set = objects.sets.entry(write.dst_set).or_default();
            descriptors::write("vkUpdateDescriptorSets", &mut set.contents, &set.layout, write);
        }
        for copy in slice(copies, copy_count) {
            let Some(from) = objects.sets.get(&copy.src_set) else { continue };
            let (contents, layout) = (from.contents.clone(), from.layout.clone());
            let set = objects.sets.entry(copy.dst_set).or_default();
            descriptors::copy(&mut set.contents, &set.layout, (&contents, &layout), copy);
        }
    });
}

pub(super) unsafe extern "system" fn create_descriptor_update_template(
    device: vk::Device,
    info: *const vk::DescriptorUpdateTemplateCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    template: *mut vk::DescriptorUpdateTemplate,
) -> vk::Result {
    made!(
        "vkCreateDescriptorUpdateTemplate",
        device.create_descriptor_update_template(info, allocator, template),
        |known| {
            let entries = slice((*info).p_descriptor_update_entries, (*info).descriptor_update_entry_count);
            lock(&known.objects).templates.insert(*template, Template(entries.into()));
        }
    )
}

pub(super) unsafe extern "system" fn destroy_descriptor_update_template(
    device: vk::Device,
    template: vk::DescriptorUpdateTemplate,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let Some(known) = device_of(device) else { return };
    noted("vkDestroyDescriptorUpdateTemplate", || {
        lock(&known.objects).templates.remove(&template);
    });
    if let Some(next) = known.next.destroy_descriptor_update_template {
        next(device, template, allocator);
    }
}

pub(super) unsafe extern "system" fn update_descriptor_set_with_template(
    device: vk::Device,
    set: vk::DescriptorSet,
    template: vk::DescriptorUpdateTemplate,
    data: *const c_void,
) {
    let gate = gate::of(device);
    if gate.misses_sets()
        && let Some(next) = gate.next.update_descriptor_set_with_template
    {
        return next(device, set, template, data);
    }
    let Some(known) = device_of(device) else { return };
    let Some(next) = known.next.update_descriptor_set_with_template else { return };
    next(device, set, template, data);
    noted("vkUpdateDescriptorSetWithTemplate", || {
        let mut objects = lock(&known.objects);
        objects.version += 1;
        known.gate.updated();
        let objects = &mut *objects;
        let Some(template) = objects.templates.get(&template) else { return };
        let set = objects.sets.entry(set).or_default();
        template.apply("vkUpdateDescriptorSetWithTemplate", &mut set.contents, &set.layout, data);
    });
}
