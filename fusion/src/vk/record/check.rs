//! A command checked against limits and ranges before it is recorded.
//!
//! All commands of a submission are checked before the first is recorded, so that an error leaves nothing behind. The
//! rules are Vulkan's "valid usage" of the calls that follow; each has its own error.

use ash::vk;

use crate::jit::SetBinding;
use crate::vk::{
    BindingKind, BoundMemory, Command, DeviceError, Dispatch, Memory, Resource, Texture,
    gpu::GpuInner,
    pipeline::compute::{Pipeline, SetLayout},
};

/// Most bytes of an update: what `vkCmdUpdateBuffer` takes.
pub(in crate::vk) const MAX_UPDATE: usize = 65_536;

/// What recording the commands will need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::vk) struct Needs {
    /// Descriptor sets, and descriptors of each kind in them, that are neither pushed nor of a layout that has sets of its own.
    pub(in crate::vk) sets: u32,
    pub(in crate::vk) storage: u32,
    pub(in crate::vk) uniform: u32,
    /// Storage images, sampled images, combined ones, samplers, uniform and storage texel buffers.
    pub(in crate::vk) textures: [u32; 6],
    /// Whether the host may look at something that is written.
    pub(in crate::vk) host: bool,
}

/// Checks commands.
pub(in crate::vk) fn commands(gpu: &GpuInner, commands: &[Command]) -> Result<Needs, DeviceError> {
    let mut needs = Needs::default();
    for command in commands {
        match command {
            Command::Dispatch(one) => dispatch(gpu, one, &mut needs)?,
            Command::Copy { src, src_offset, dst, dst_offset, len } => {
                own(gpu, src)?;
                own(gpu, dst)?;
                src.check("source of a copy", *src_offset, *len)?;
                dst.check("destination of a copy", *dst_offset, *len)?;
                let (from, to) = (src.base() + src_offset, dst.base() + dst_offset);
                if src.handle() == dst.handle() && from < to + len && to < from + len {
                    return Err(DeviceError::OverlappingCopy {
                        src: *src_offset,
                        dst: *dst_offset,
                        len: *len,
                    });
                }
                needs.host |= dst.host_may_look();
            }
            Command::Fill { dst, offset, len, .. } => {
                own(gpu, dst)?;
                aligned("fill offset", dst.base() + offset, 4)?;
                aligned("fill length", *len, 4)?;
                // The words at the end may reach into the rounding of the allocation.
                let end = offset.checked_add(*len);
                if end.is_none_or(|end| end > dst.size().next_multiple_of(4).min(dst.capacity())) {
                    dst.check("fill", *offset, *len)?;
                }
                needs.host |= dst.host_may_look();
            }
            Command::Update { dst, offset, bytes } => {
                own(gpu, dst)?;
                aligned("update offset", dst.base() + offset, 4)?;
                aligned("update length", bytes.len() as u64, 4)?;
                if bytes.len() > MAX_UPDATE {
                    return Err(DeviceError::OverLimit {
                        what: "an update",
                        asked: bytes.len() as u64,
                        limit: MAX_UPDATE as u64,
                        name: "vkCmdUpdateBuffer",
                    });
                }
                dst.check("update", *offset, bytes.len() as u64)?;
                needs.host |= dst.host_may_look();
            }
            Command::Prepare { texture } => own_texture(gpu, texture)?,
            Command::ToImage { src, dst } => {
                own(gpu, src)?;
                own_texture(gpu, dst)?;
                src.check("source of a copy to an image", 0, dst.bytes())?;
            }
            Command::FromImage { src, dst } => {
                own(gpu, dst)?;
                own_texture(gpu, src)?;
                dst.check("destination of a copy from an image", 0, src.bytes())?;
                needs.host |= dst.host_may_look();
            }
            Command::Barrier(_) => {}
        }
    }
    Ok(needs)
}

pub(in crate::vk) fn dispatch(
    gpu: &GpuInner,
    dispatch: &Dispatch,
    needs: &mut Needs,
) -> Result<(), DeviceError> {
    let Dispatch { pipeline, bindings, push, groups, keeps } = dispatch;
    if !pipeline.belongs_to(gpu.id) {
        return Err(DeviceError::Foreign { what: "pipeline" });
    }
    if groups.contains(&0) {
        return Err(DeviceError::ZeroGroups { groups: *groups });
    }
    for (count, limit) in groups.iter().zip(gpu.caps.limits().max_groups) {
        if *count > limit {
            return Err(DeviceError::OverLimit {
                what: "a work-group count",
                asked: (*count).into(),
                limit: limit.into(),
                name: "maxComputeWorkGroupCount",
            });
        }
    }
    let needed = pipeline.push_bytes() + pipeline.push_buffer().unwrap_or(0);
    if push.len() != needed as usize {
        return Err(DeviceError::PushSize { given: push.len(), needed });
    }
    for (number, (at, kind)) in pipeline.given().iter().enumerate() {
        let Some(bound) = find(bindings, number, *at) else {
            let problem = "is declared by the pipeline and was not given";
            return Err(DeviceError::Binding { at: *at, problem });
        };
        needs.host |= self::bound(gpu, (*at, *kind), &bound.resource, (bound.offset, bound.len))?;
    }
    if bindings.len() != pipeline.given().len() {
        return Err(superfluous(pipeline, bindings));
    }
    for memory in keeps {
        own(gpu, memory)?;
        needs.host |= memory.host_may_look();
    }
    let from_a_pool = |set: &&SetLayout| !set.pushed && set.shape.is_none() && set.count > 0;
    for set in pipeline.sets().iter().filter(from_a_pool) {
        needs.sets += 1;
        for (_, kind) in &pipeline.bindings()[set.first..set.first + set.count] {
            match kind {
                BindingKind::Storage => needs.storage += 1,
                BindingKind::Uniform => needs.uniform += 1,
                BindingKind::StorageImage => needs.textures[0] += 1,
                BindingKind::SampledImage => needs.textures[1] += 1,
                BindingKind::CombinedSampler => needs.textures[2] += 1,
                BindingKind::Sampler => needs.textures[3] += 1,
                BindingKind::UniformTexels => needs.textures[4] += 1,
                BindingKind::StorageTexels => needs.textures[5] += 1,
            }
        }
    }
    Ok(())
}

/// The memory given for a binding. `number` is its place when the caller sorts as the pipeline does.
pub(in crate::vk) fn find(bindings: &[BoundMemory], number: usize, at: SetBinding) -> Option<&BoundMemory> {
    let is = |bound: &&BoundMemory| bound.at == at;
    bindings.get(number).filter(is).or_else(|| bindings.iter().find(is))
}

fn superfluous(pipeline: &Pipeline, bindings: &[BoundMemory]) -> DeviceError {
    let declared = |bound: &BoundMemory| pipeline.given().iter().any(|b| b.0 == bound.at);
    // Every declared one was found, so either one is not declared or one is given twice.
    match bindings.iter().find(|bound| !declared(bound)) {
        Some(extra) => {
            let problem = "was given and the pipeline does not declare it";
            DeviceError::Binding { at: extra.at, problem }
        }
        None => {
            let twice = |i: usize| bindings[..i].iter().any(|b| b.at == bindings[i].at);
            let at = (0..bindings.len()).find(|i| twice(*i)).map(|i| bindings[i].at);
            DeviceError::Binding { at: at.unwrap_or_default(), problem: "was given twice" }
        }
    }
}

/// Checks that a resource can be bound. Whether the host may look at what is written there.
#[inline]
pub(in crate::vk) fn bound(
    gpu: &GpuInner,
    (at, kind): (SetBinding, BindingKind),
    resource: &Resource,
    range: (u64, u64),
) -> Result<bool, DeviceError> {
    if !resource.belongs_to(gpu.id) {
        return Err(DeviceError::Foreign { what: "memory object" });
    }
    match (resource, kind.is_texture()) {
        (Resource::Buffer(memory), false) => {
            binding(gpu, (at, kind), memory, range)?;
            Ok(kind == BindingKind::Storage && memory.host_may_look())
        }
        (Resource::Texture(texture), true) if texture.serves(kind) => {
            Ok(kind == BindingKind::StorageTexels && texture.host_may_look())
        }
        _ => {
            let problem = "is given another resource than the pipeline declares";
            Err(DeviceError::Binding { at, problem })
        }
    }
}

/// Checks that a range of a memory can be bound.
#[inline]
fn binding(
    gpu: &GpuInner,
    (at, kind): (SetBinding, BindingKind),
    memory: &Memory,
    (offset, len): (u64, u64),
) -> Result<(), DeviceError> {
    if len == 0 {
        return Err(DeviceError::Binding { at, problem: "is given a range of no bytes" });
    }
    memory.check("binding", offset, len)?;
    let limits = gpu.caps.limits();
    let (align, limit, what, name) = match kind {
        BindingKind::Storage => (
            limits.storage_offset_align,
            limits.max_storage_range,
            "a storage buffer binding",
            "maxStorageBufferRange",
        ),
        _ => (
            limits.uniform_offset_align,
            limits.max_uniform_range,
            "a uniform buffer binding",
            "maxUniformBufferRange",
        ),
    };
    if kind == BindingKind::Uniform && !memory.is_uniform() {
        return Err(DeviceError::MissingUsage { usage: "UNIFORM_BUFFER" });
    }
    aligned("offset of a binding", memory.base() + offset, align)?;
    if len > limit {
        return Err(DeviceError::OverLimit { what, asked: len, limit, name });
    }
    Ok(())
}

fn own(gpu: &GpuInner, memory: &Memory) -> Result<(), DeviceError> {
    if !memory.belongs_to(gpu.id) {
        return Err(DeviceError::Foreign { what: "memory object" });
    }
    debug_assert_ne!(memory.handle(), vk::Buffer::null());
    Ok(())
}

fn own_texture(gpu: &GpuInner, texture: &Texture) -> Result<(), DeviceError> {
    let is_image = texture.image().is_some() && texture.belongs_to(gpu.id);
    if is_image { Ok(()) } else { Err(DeviceError::Foreign { what: "image" }) }
}

#[inline]
fn aligned(what: &'static str, value: u64, align: u64) -> Result<(), DeviceError> {
    // Vulkan's alignments are powers of two: no division.
    if value & (align.max(1) - 1) != 0 {
        return Err(DeviceError::Misaligned { what, value, align });
    }
    Ok(())
}
