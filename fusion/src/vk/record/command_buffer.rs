//! A command buffer with what its commands refer to: descriptor sets, and everything that must stay alive.

use std::{mem, ptr, sync::Arc};

use ash::vk;
use smallvec::SmallVec;
use vulkano::{VulkanObject, device::Device};

use crate::vk::{
    Command, CommandTemplate, DeviceError, Memory, Pipeline, Resource, Resources, Texture,
    check::Needs,
    gpu::GpuInner,
    passed::Passed,
    pipeline::compute::SetLayout,
    sets::Set,
    template::{Recordable, RecordedTemplate},
};

/// What the commands keep alive.
#[derive(Debug)]
enum Keep {
    Resource { _resource: Resource },
    Pipeline { _pipeline: Arc<Pipeline> },
}

/// What commands are recorded into. Anyone who owns the command buffer's pool frees the buffer.
#[derive(Debug)]
pub(in crate::vk) struct CommandBuffer {
    commands: vk::CommandBuffer,
    pub(in crate::vk) sets: Sets,
    keeps: Vec<Keep>,
    template: Option<(Arc<CommandTemplate>, Resources)>,
    /// What is recorded, where it can be submitted again on other memories.
    pub(in crate::vk) recording: Option<RecordedTemplate>,
    /// A description of what is recorded, if a test asked for it: one line per command.
    pub(in crate::vk) lines: Vec<String>,
}

/// The descriptor sets of one recording: those that may be written after they were bound, in the order of their use, and all others.
#[derive(Debug)]
pub(in crate::vk) struct Sets {
    rewritable: SmallVec<[Set; 2]>,
    /// How many of them are used.
    used: usize,
    pool: SetPool,
}

/// A descriptor pool, large enough for one recording. Null until one needs it.
#[derive(Debug)]
struct SetPool {
    handle: vk::DescriptorPool,
    capacity: Needs,
    device: Arc<Device>,
}

impl CommandBuffer {
    /// Allocates a command buffer.
    ///
    /// # Safety
    ///
    /// No one else uses the pool meanwhile.
    pub(in crate::vk) unsafe fn new(
        gpu: &GpuInner,
        pool: vk::CommandPool,
    ) -> Result<CommandBuffer, DeviceError> {
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        let mut commands = vk::CommandBuffer::null();
        // SAFETY: device and pool are alive, no one else uses the pool (the caller's promise), and there is room for the
        // one buffer asked for.
        let result = unsafe {
            (gpu.device.fns().v1_0.allocate_command_buffers)(gpu.device.handle(), &info, &mut commands)
        };
        gpu.ok("vkAllocateCommandBuffers", result)?;
        let (sets, keeps, template, recording) = (Sets::new(gpu), Vec::new(), None, None);
        Ok(CommandBuffer { commands, sets, keeps, template, recording, lines: Vec::new() })
    }

    pub(in crate::vk) fn commands(&self) -> vk::CommandBuffer {
        self.commands
    }

    /// Makes room for descriptor sets. Nothing recorded here before is pending.
    pub(in crate::vk) fn prepare(&mut self, gpu: &GpuInner, needs: Needs) -> Result<(), DeviceError> {
        self.recording = None;
        self.sets.prepare(gpu, needs)
    }

    /// Keeps everything that what is recorded refers to.
    pub(in crate::vk) fn keep(&mut self, what: Recordable<'_>, passed: Passed) {
        let keep = |resource: Resource| Keep::Resource { _resource: resource };
        self.keeps.extend(passed.into_iter().map(Resource::Buffer).map(keep));
        let memory = |memory: &Arc<Memory>| keep(Resource::Buffer(memory.clone()));
        let texture = |texture: &Arc<Texture>| keep(Resource::Texture(texture.clone()));
        let commands = match what {
            Recordable::Commands(commands) => commands,
            Recordable::Template(played, on) => {
                self.template = Some((played.template.clone(), mem::take(on)));
                return;
            }
        };
        for command in commands {
            match command {
                Command::Dispatch(dispatch) => {
                    self.keeps.push(Keep::Pipeline { _pipeline: dispatch.pipeline.clone() });
                    self.keeps.extend(dispatch.bindings.iter().map(|bound| keep(bound.resource.clone())));
                    self.keeps.extend(dispatch.keeps.iter().map(memory));
                }
                Command::Copy { src, dst, .. } => self.keeps.extend([src, dst].map(memory)),
                Command::Fill { dst, .. } | Command::Update { dst, .. } => self.keeps.push(memory(dst)),
                Command::Prepare { texture: image } => self.keeps.push(texture(image)),
                Command::ToImage { src: buffer, dst: image }
                | Command::FromImage { src: image, dst: buffer } => {
                    self.keeps.extend([memory(buffer), texture(image)]);
                }
                Command::Barrier(_) => {}
            }
        }
    }

    /// Lets go of what was kept. Nothing recorded here is pending, or is submitted before it is given what it needs.
    pub(in crate::vk) fn release(&mut self) {
        self.keeps.clear();
        self.template = None;
    }
}

impl Sets {
    pub(in crate::vk) fn new(gpu: &GpuInner) -> Sets {
        Sets { rewritable: SmallVec::new(), used: 0, pool: SetPool::new(gpu) }
    }

    /// Makes room for so much. Nothing recorded with these sets is pending, or submitted again.
    pub(in crate::vk) fn prepare(&mut self, gpu: &GpuInner, needs: Needs) -> Result<(), DeviceError> {
        self.used = 0;
        if needs.sets > 0 { self.pool.prepare(gpu, needs) } else { Ok(()) }
    }

    /// The next descriptor set of this recording, to be written.
    pub(in crate::vk) fn next(
        &mut self,
        gpu: &GpuInner,
        layout: &SetLayout,
    ) -> Result<vk::DescriptorSet, DeviceError> {
        let Some(shape) = &layout.shape else { return self.pool.set(gpu, layout.handle) };
        let place = self.used;
        match self.rewritable.get_mut(place) {
            Some(set) if set.is_of(shape) => {}
            Some(set) => *set = shape.take(gpu)?,
            None => self.rewritable.push(shape.take(gpu)?),
        }
        self.used += 1;
        Ok(self.rewritable[place].handle)
    }

    /// Notes that all is recorded.
    pub(in crate::vk) fn end(&mut self) {
        self.rewritable.truncate(self.used);
    }

    /// Those that may be written after they were bound, in the order of their use.
    pub(in crate::vk) fn rewritable(&self) -> impl Iterator<Item = vk::DescriptorSet> + '_ {
        self.rewritable.iter().map(|set| set.handle)
    }
}

impl SetPool {
    fn new(gpu: &GpuInner) -> SetPool {
        let (handle, capacity) = (vk::DescriptorPool::null(), Needs::default());
        SetPool { handle, capacity, device: gpu.device.clone() }
    }

    /// A descriptor set of this recording.
    fn set(
        &mut self,
        gpu: &GpuInner,
        layout: vk::DescriptorSetLayout,
    ) -> Result<vk::DescriptorSet, DeviceError> {
        let layouts = [layout];
        let info =
            vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.handle).set_layouts(&layouts);
        let mut set = vk::DescriptorSet::null();
        // SAFETY: the pool is its own and `prepare` made it large enough; `info` outlives the call.
        let result =
            unsafe { (gpu.device.fns().v1_0.allocate_descriptor_sets)(gpu.device.handle(), &info, &mut set) };
        gpu.ok("vkAllocateDescriptorSets", result)?;
        Ok(set)
    }

    /// Makes room for so much. Nothing recorded with it before is pending.
    fn prepare(&mut self, gpu: &GpuInner, needs: Needs) -> Result<(), DeviceError> {
        let device = self.device.clone();
        let fns = &device.fns().v1_0;
        let have = self.capacity;
        let enough = have.sets >= needs.sets
            && have.storage >= needs.storage
            && have.uniform >= needs.uniform
            && have.textures.iter().zip(needs.textures).all(|(have, needs)| *have >= needs);
        if self.handle != vk::DescriptorPool::null() && enough {
            let flags = vk::DescriptorPoolResetFlags::empty();
            // SAFETY: nothing recorded with the pool is pending, so no set of it is in use.
            let result = unsafe { (fns.reset_descriptor_pool)(device.handle(), self.handle, flags) };
            return gpu.ok("vkResetDescriptorPool", result);
        }
        self.destroy();
        let capacity = Needs {
            sets: needs.sets.max(have.sets).next_power_of_two(),
            storage: needs.storage.max(have.storage).next_power_of_two(),
            uniform: needs.uniform.max(have.uniform).next_power_of_two(),
            textures: [0, 1, 2, 3, 4, 5].map(|kind| needs.textures[kind].max(have.textures[kind])),
            host: false,
        };
        let [storage_images, sampled_images, combined, samplers, uniform_texels, storage_texels] =
            capacity.textures;
        let counts = [
            (vk::DescriptorType::STORAGE_BUFFER, capacity.storage),
            (vk::DescriptorType::UNIFORM_BUFFER, capacity.uniform),
            (vk::DescriptorType::STORAGE_IMAGE, storage_images),
            (vk::DescriptorType::SAMPLED_IMAGE, sampled_images),
            (vk::DescriptorType::COMBINED_IMAGE_SAMPLER, combined),
            (vk::DescriptorType::SAMPLER, samplers),
            (vk::DescriptorType::UNIFORM_TEXEL_BUFFER, uniform_texels),
            (vk::DescriptorType::STORAGE_TEXEL_BUFFER, storage_texels),
        ];
        let size = |(ty, count)| vk::DescriptorPoolSize::default().ty(ty).descriptor_count(count);
        let sizes: SmallVec<[_; 8]> = counts.into_iter().filter(|(_, count)| *count > 0).map(size).collect();
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(capacity.sets).pool_sizes(&sizes);
        // SAFETY: the device is alive, `info` and the sizes outlive the call, no count is 0.
        let result =
            unsafe { (fns.create_descriptor_pool)(device.handle(), &info, ptr::null(), &mut self.handle) };
        gpu.ok("vkCreateDescriptorPool", result)?;
        self.capacity = capacity;
        Ok(())
    }

    fn destroy(&mut self) {
        // SAFETY: nothing recorded with the pool is pending, so no set of it is in use, or the device is lost, where
        // destroying stays legal; a null handle is allowed.
        unsafe {
            (self.device.fns().v1_0.destroy_descriptor_pool)(self.device.handle(), self.handle, ptr::null());
        }
        self.handle = vk::DescriptorPool::null();
        self.capacity = Needs::default();
    }
}

impl Drop for SetPool {
    fn drop(&mut self) {
        self.destroy();
    }
}
