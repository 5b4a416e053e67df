//! Descriptor sets of buffers that are written again after they were bound.
//!
//! Writing a set makes the command buffers that it is bound in invalid, unless its bindings were made for update after bind (Vulkan
//! 1.2). Then what was recorded with it can be submitted again on other buffers: nothing but the set is written. Where the device has
//! that for a pipeline's bindings, which all have to be of buffers, all its sets are of this sort and none is pushed, for a pipeline has one layout.
//!
//! Layouts with the same bindings are one object, and so share their sets: one is allocated where none is idle, and waits here
//! while no one has it.
//!
//! # Guarantees
//! - a set has one owner, a recording; it is written by that, while no submission of it is pending
//! - anyone who submits a recording has written all its sets since: what an idle set names may be gone

use std::{
    mem, ptr,
    sync::{Arc, Weak},
};

use ash::vk;
use parking_lot::Mutex;
use smallvec::SmallVec;
use vulkano::{VulkanObject, device::Device};

use crate::jit::SetBinding;
use crate::sync::spin_then_lock;
use crate::vk::{BindingKind, DeviceError, gpu::GpuInner, record::recorder::Descriptor};

/// How many descriptors of a pipeline may be of bindings that are updated after they were bound; none where the device was made without.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::vk) struct Rewritable {
    storage: u32,
    uniform: u32,
    all: u32,
}

/// A binding of a set: number, kind, and how many elements it has.
pub(in crate::vk) type SetLayoutBinding = (u32, BindingKind, u32);

/// The bindings of a set, in order.
pub(in crate::vk) type SetBindings = SmallVec<[SetLayoutBinding; 8]>;

/// A layout whose sets may be written after they were bound, with those that are idle.
#[derive(Debug)]
pub(in crate::vk) struct SetShape {
    pub(in crate::vk) layout: vk::DescriptorSetLayout,
    pub(in crate::vk) template: vk::DescriptorUpdateTemplate,
    bindings: SetBindings,
    sets: Mutex<Sets>,
    device: Arc<Device>,
}

#[derive(Debug, Default)]
struct Sets {
    pools: Vec<vk::DescriptorPool>,
    idle: Vec<vk::DescriptorSet>,
}

/// A set, until it is dropped: no submission with it is pending then, or the device is lost.
#[derive(Debug)]
pub(in crate::vk) struct Set {
    pub(in crate::vk) handle: vk::DescriptorSet,
    shape: Arc<SetShape>,
}

/// The layouts that somebody has.
#[derive(Debug, Default)]
pub(in crate::vk) struct SetShapes(Mutex<Vec<Weak<SetShape>>>);

/// Sets of the first pool of a layout, and of the largest.
const SETS: [u32; 2] = [8, 64];

impl Rewritable {
    /// What a device was made with.
    pub(in crate::vk) fn of(device: &Device) -> Rewritable {
        let (features, p) = (device.enabled_features(), device.physical_device().properties());
        let least =
            |limits: [Option<u32>; 2]| limits.into_iter().map(|limit| limit.unwrap_or(0)).min().unwrap_or(0);
        let robust = features.robust_buffer_access && p.robust_buffer_access_update_after_bind != Some(true);
        if robust || !features.descriptor_binding_storage_buffer_update_after_bind {
            return Rewritable::default();
        }
        let storage = least([
            p.max_per_stage_descriptor_update_after_bind_storage_buffers,
            p.max_descriptor_set_update_after_bind_storage_buffers,
        ]);
        let uniform = least([
            p.max_per_stage_descriptor_update_after_bind_uniform_buffers,
            p.max_descriptor_set_update_after_bind_uniform_buffers,
        ]);
        let has_uniform = features.descriptor_binding_uniform_buffer_update_after_bind;
        let all = p.max_per_stage_update_after_bind_resources.unwrap_or(0);
        Rewritable { storage, uniform: if has_uniform { uniform } else { 0 }, all }
    }

    /// Whether all sets of a pipeline with these bindings can be of this sort.
    pub(in crate::vk) fn takes(self, bindings: &[(SetBinding, BindingKind)]) -> bool {
        let count = |of: BindingKind| bindings.iter().filter(|(_, kind)| *kind == of).count();
        let (storage, uniform) = (count(BindingKind::Storage), count(BindingKind::Uniform));
        storage + uniform == bindings.len()
            && bindings.len() <= self.all as usize
            && storage <= self.storage as usize
            && uniform <= self.uniform as usize
    }
}

/// Makes a layout. The caller destroys it.
pub(in crate::vk) fn make_layout(
    gpu: &GpuInner,
    bindings: &[SetLayoutBinding],
    sort: vk::DescriptorSetLayoutCreateFlags,
) -> Result<vk::DescriptorSetLayout, DeviceError> {
    let described: SmallVec<[vk::DescriptorSetLayoutBinding<'_>; 8]> = bindings
        .iter()
        .map(|(binding, kind, count)| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(*binding)
                .descriptor_type(kind.to_vk())
                .descriptor_count(*count)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        })
        .collect();
    let later: SmallVec<[vk::DescriptorBindingFlags; 8]> =
        bindings.iter().map(|_| vk::DescriptorBindingFlags::UPDATE_AFTER_BIND).collect();
    let mut flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&later);
    let mut info = vk::DescriptorSetLayoutCreateInfo::default().flags(sort).bindings(&described);
    if sort.contains(vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL) {
        info = info.push_next(&mut flags);
    }
    let mut layout = vk::DescriptorSetLayout::null();
    let create = gpu.device.fns().v1_0.create_descriptor_set_layout;
    // SAFETY: the device is alive, `info` and what it points to outlive the call, binding numbers are distinct, and each flag
    // is used only where what it is of is on and within its limits (the callers').
    let result = unsafe { create(gpu.device.handle(), &info, ptr::null(), &mut layout) };
    gpu.ok("vkCreateDescriptorSetLayout", result)?;
    Ok(layout)
}

/// Where a template writes to.
#[derive(Debug, Clone, Copy)]
pub(in crate::vk) enum Writes {
    /// Sets of a layout.
    Sets(vk::DescriptorSetLayout),
    /// A command buffer, for the first set of a pipeline's layout.
    Pushed(vk::PipelineLayout),
}

/// Makes a template that takes a [`Descriptor`] for each element, in order. The caller destroys it.
pub(in crate::vk) fn make_template(
    gpu: &GpuInner,
    bindings: &[SetLayoutBinding],
    writes: Writes,
) -> Result<vk::DescriptorUpdateTemplate, DeviceError> {
    let stride = size_of::<Descriptor>();
    let mut next = 0;
    let entry = |(binding, kind, count): &SetLayoutBinding| {
        let offset = next * stride;
        next += *count as usize;
        vk::DescriptorUpdateTemplateEntry::default()
            .dst_binding(*binding)
            .descriptor_count(*count)
            .descriptor_type(kind.to_vk())
            .offset(offset)
            .stride(stride)
    };
    let entries: SmallVec<[_; 8]> = bindings.iter().map(entry).collect();
    let info = vk::DescriptorUpdateTemplateCreateInfo::default().descriptor_update_entries(&entries);
    let info = match writes {
        Writes::Sets(layout) => {
            info.template_type(vk::DescriptorUpdateTemplateType::DESCRIPTOR_SET).descriptor_set_layout(layout)
        }
        Writes::Pushed(layout) => info
            .template_type(vk::DescriptorUpdateTemplateType::PUSH_DESCRIPTORS_KHR)
            .pipeline_bind_point(vk::PipelineBindPoint::COMPUTE)
            .pipeline_layout(layout)
            .set(0),
    };
    let mut template = vk::DescriptorUpdateTemplate::null();
    let create = gpu.device.fns().v1_1.create_descriptor_update_template;
    // SAFETY: device and layouts are alive, `info` and what it points to outlive the call, the entries are the bindings of the
    // set, and a set is pushed only where the extension is on.
    let result = unsafe { create(gpu.device.handle(), &info, ptr::null(), &mut template) };
    gpu.ok("vkCreateDescriptorUpdateTemplate", result)?;
    Ok(template)
}

impl SetShapes {
    /// The layout with these bindings, at least one. They are within the limits ([`Rewritable::takes`]).
    pub(in crate::vk) fn of(
        &self,
        gpu: &GpuInner,
        bindings: SetBindings,
    ) -> Result<Arc<SetShape>, DeviceError> {
        let mut known = self.0.lock();
        known.retain(|shape| shape.strong_count() > 0);
        if let Some(shape) = known.iter().filter_map(Weak::upgrade).find(|shape| shape.bindings == bindings) {
            return Ok(shape);
        }
        let sort = vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL;
        let mut shape = SetShape {
            layout: make_layout(gpu, &bindings, sort)?,
            template: vk::DescriptorUpdateTemplate::null(),
            bindings,
            sets: Mutex::default(),
            device: gpu.device.clone(),
        };
        shape.template = make_template(gpu, &shape.bindings, Writes::Sets(shape.layout))?;
        let shape = Arc::new(shape);
        known.push(Arc::downgrade(&shape));
        Ok(shape)
    }
}

impl SetShape {
    /// A set that no one else has. What it names is not to be looked at before it is written.
    pub(in crate::vk) fn take(self: &Arc<Self>, gpu: &GpuInner) -> Result<Set, DeviceError> {
        let mut sets = spin_then_lock(&self.sets);
        let handle = match sets.idle.pop() {
            Some(idle) => idle,
            None => self.more(gpu, &mut sets)?,
        };
        Ok(Set { handle, shape: self.clone() })
    }

    /// Allocates sets, and gives one of them.
    #[cold]
    fn more(&self, gpu: &GpuInner, sets: &mut Sets) -> Result<vk::DescriptorSet, DeviceError> {
        let count = (SETS[0] << sets.pools.len().min(8)).min(SETS[1]);
        let descriptors = |of: BindingKind| {
            let of = self.bindings.iter().filter(|(_, kind, _)| *kind == of);
            count * of.map(|(_, _, elements)| elements).sum::<u32>()
        };
        let sizes: SmallVec<[vk::DescriptorPoolSize; 2]> = [BindingKind::Storage, BindingKind::Uniform]
            .map(|kind| {
                vk::DescriptorPoolSize::default().ty(kind.to_vk()).descriptor_count(descriptors(kind))
            })
            .into_iter()
            .filter(|size| size.descriptor_count > 0)
            .collect();
        let info = vk::DescriptorPoolCreateInfo::default()
            .flags(vk::DescriptorPoolCreateFlags::UPDATE_AFTER_BIND)
            .max_sets(count)
            .pool_sizes(&sizes);
        let fns = &self.device.fns().v1_0;
        let mut pool = vk::DescriptorPool::null();
        // SAFETY: the device is alive, `info` and the sizes outlive the call, no count is 0.
        let result =
            unsafe { (fns.create_descriptor_pool)(self.device.handle(), &info, ptr::null(), &mut pool) };
        gpu.ok("vkCreateDescriptorPool", result)?;
        let layouts = vec![self.layout; count as usize];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let mut new = vec![vk::DescriptorSet::null(); count as usize];
        // SAFETY: the pool was just made, has room for all of these and is used under the lock; `info` outlives the call, and
        // there is a place for each set.
        let result = unsafe { (fns.allocate_descriptor_sets)(self.device.handle(), &info, new.as_mut_ptr()) };
        gpu.ok("vkAllocateDescriptorSets", result).inspect_err(|_| {
            // SAFETY: the pool is no one else's, and has no set.
            unsafe { (fns.destroy_descriptor_pool)(self.device.handle(), pool, ptr::null()) }
        })?;
        sets.pools.push(pool);
        let first = new.pop().unwrap_or_default();
        sets.idle.append(&mut new);
        Ok(first)
    }
}

impl Set {
    pub(in crate::vk) fn is_of(&self, shape: &Arc<SetShape>) -> bool {
        Arc::ptr_eq(&self.shape, shape)
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        spin_then_lock(&self.shape.sets).idle.push(self.handle);
    }
}

impl Drop for SetShape {
    fn drop(&mut self) {
        let (fns, device) = (&self.device.fns().v1_0, self.device.handle());
        let sets = self.sets.get_mut();
        for pool in mem::take(&mut sets.pools) {
            // SAFETY: who has a set has this too, so all of them are idle and none is in use.
            unsafe { (fns.destroy_descriptor_pool)(device, pool, ptr::null()) };
        }
        let destroy = self.device.fns().v1_1.destroy_descriptor_update_template;
        // SAFETY: pipelines and recordings that use it have this; a null handle is allowed.
        unsafe { destroy(device, self.template, ptr::null()) };
        // SAFETY: the same.
        unsafe { (fns.destroy_descriptor_set_layout)(device, self.layout, ptr::null()) };
    }
}
