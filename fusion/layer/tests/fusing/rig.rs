//! A program on plain Vulkan: a device, buffers that the host sees, two kernels, command buffers.

use ash::vk;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes from one buffer of an allocation to the next.
pub(crate) const APART: u64 = 65_536;

pub(crate) struct Rig {
    _entry: ash::Entry,
    pub(crate) instance: ash::Instance,
    pub(crate) device: ash::Device,
    pub(crate) push: ash::khr::push_descriptor::Device,
    pub(crate) queue: Mutex<vk::Queue>,
    pub(crate) family: u32,
    kind: u32,
    layouts: [vk::DescriptorSetLayout; 3],
    layout: [vk::PipelineLayout; 3],
    pipelines: Vec<[vk::Pipeline; 2]>,
    /// Command buffers that were submitted.
    submitted: AtomicU64,
}

/// How descriptors are given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Sets = 0,
    Pushed = 1,
    Dynamic = 2,
}

/// The kernels: the product, and the difference, of two buffers into a third.
#[derive(Clone, Copy)]
pub(crate) enum Kernel {
    Mul = 0,
    Sub = 1,
}

/// A buffer with its memory, mapped.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) buffer: vk::Buffer,
    pub(crate) memory: vk::DeviceMemory,
    data: *mut f32,
    pub(crate) len: usize,
}

// SAFETY: threads of the tests use buffers of their own.
unsafe impl Send for Held {}
// SAFETY: the same.
unsafe impl Sync for Held {}

impl Held {
    pub(crate) fn write(&self, values: &[f32]) {
        // SAFETY: the memory is mapped, has as much room, and nothing is in flight.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.data, values.len()) };
    }

    pub(crate) fn read(&self) -> Vec<f32> {
        // SAFETY: the memory is mapped, and nothing is in flight.
        unsafe { std::slice::from_raw_parts(self.data, self.len).to_vec() }
    }
}

fn words(name: &str) -> Vec<u32> {
    let path = format!("{}/../../shaders/chain/{name}.spv", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).expect("a kernel");
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fn made(device: &ash::Device, name: &str, layout: vk::PipelineLayout) -> vk::Pipeline {
    let code = words(name);
    let info = vk::ShaderModuleCreateInfo::default().code(&code);
    let module = unsafe { device.create_shader_module(&info, None).expect("a module") };
    let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE);
    let stage = stage.module(module).name(c"main");
    let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
    let none = vk::PipelineCache::null();
    let made = unsafe { device.create_compute_pipelines(none, &info, None).expect("a pipeline")[0] };
    unsafe { device.destroy_shader_module(module, None) };
    made
}

impl Rig {
    pub(crate) fn new(api: u32, is_robust: bool) -> Rig {
        let entry = unsafe { ash::Entry::load().expect("the loader") };
        let app = vk::ApplicationInfo::default().api_version(api);
        let info = vk::InstanceCreateInfo::default().application_info(&app);
        let instance = unsafe { entry.create_instance(&info, None).expect("an instance") };
        let physical = unsafe { instance.enumerate_physical_devices().expect("devices")[0] };
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        let family = families.iter().position(|one| one.queue_flags.contains(vk::QueueFlags::COMPUTE));
        let family = family.expect("a queue that computes") as u32;
        let queues =
            [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
        let features = vk::PhysicalDeviceFeatures::default().robust_buffer_access(is_robust);
        let extensions = [ash::khr::push_descriptor::NAME.as_ptr()];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_features(&features);
        let info = info.enabled_extension_names(&extensions);
        let device = unsafe { instance.create_device(physical, &info, None).expect("a device") };
        let kinds = unsafe { instance.get_physical_device_memory_properties(physical).memory_types };
        let needed = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let kind = kinds.iter().position(|kind| kind.property_flags.contains(needed)).expect("memory") as u32;
        let queue = Mutex::new(unsafe { device.get_device_queue(family, 0) });
        let push = ash::khr::push_descriptor::Device::new(&instance, &device);
        let storage = vk::DescriptorType::STORAGE_BUFFER;
        let ways = [
            (storage, vk::DescriptorSetLayoutCreateFlags::empty()),
            (storage, vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR),
            (vk::DescriptorType::STORAGE_BUFFER_DYNAMIC, vk::DescriptorSetLayoutCreateFlags::empty()),
        ];
        let layouts = ways.map(|(kind, flags)| {
            let bindings = [0, 1, 2].map(|binding| {
                let one = vk::DescriptorSetLayoutBinding::default().binding(binding).descriptor_count(1);
                one.descriptor_type(kind).stage_flags(vk::ShaderStageFlags::COMPUTE)
            });
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings).flags(flags);
            unsafe { device.create_descriptor_set_layout(&info, None).expect("a layout") }
        });
        let ranges =
            [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 4 }];
        let layout = layouts.map(|set| {
            let sets = [set];
            let info =
                vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&ranges);
            unsafe { device.create_pipeline_layout(&info, None).expect("a layout") }
        });
        let of_layout = |layout: &vk::PipelineLayout| ["mul", "sub"].map(|name| made(&device, name, *layout));
        let pipelines = layout.iter().map(of_layout).collect();
        let submitted = AtomicU64::new(0);
        Rig {
            _entry: entry,
            instance,
            device,
            push,
            queue,
            family,
            kind,
            layouts,
            layout,
            pipelines,
            submitted,
        }
    }

    /// A pipeline that is used for nothing.
    pub(crate) fn pipeline(&self) -> vk::Pipeline {
        made(&self.device, "mul", self.layout[0])
    }

    pub(crate) fn memory(&self, bytes: u64) -> (vk::DeviceMemory, *mut f32) {
        let info = vk::MemoryAllocateInfo::default().allocation_size(bytes).memory_type_index(self.kind);
        let memory = unsafe { self.device.allocate_memory(&info, None).expect("memory") };
        let none = vk::MemoryMapFlags::empty();
        let data = unsafe { self.device.map_memory(memory, 0, vk::WHOLE_SIZE, none).expect("it is mapped") };
        (memory, data.cast())
    }

    /// A buffer of this many floats in a part of a memory.
    pub(crate) fn at(&self, (memory, data): (vk::DeviceMemory, *mut f32), offset: u64, len: usize) -> Held {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::INDIRECT_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default().size(4 * len as u64).usage(usage);
        let buffer = unsafe { self.device.create_buffer(&info, None).expect("a buffer") };
        let needs = unsafe { self.device.get_buffer_memory_requirements(buffer) };
        assert_eq!(offset % needs.alignment, 0);
        unsafe { self.device.bind_buffer_memory(buffer, memory, offset).expect("it is bound") };
        // SAFETY: inside of the memory.
        Held { buffer, memory, data: unsafe { data.byte_add(offset as usize) }, len }
    }

    pub(crate) fn buffer(&self, len: usize) -> Held {
        self.at(self.memory(APART), 0, len)
    }

    pub(crate) fn free(&self, held: Held) {
        unsafe { self.device.destroy_buffer(held.buffer, None) };
        unsafe { self.device.free_memory(held.memory, None) };
    }

    pub(crate) fn descriptors(&self, sets: u32) -> vk::DescriptorPool {
        let kinds = [vk::DescriptorType::STORAGE_BUFFER, vk::DescriptorType::STORAGE_BUFFER_DYNAMIC];
        let sizes = kinds.map(|ty| vk::DescriptorPoolSize { ty, descriptor_count: 3 * sets });
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(sets).pool_sizes(&sizes);
        unsafe { self.device.create_descriptor_pool(&info, None).expect("a pool") }
    }

    pub(crate) fn set(&self, pool: vk::DescriptorPool, way: Way, buffers: [Held; 3]) -> vk::DescriptorSet {
        let layouts = [self.layouts[way as usize]];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let set = unsafe { self.device.allocate_descriptor_sets(&info).expect("a set")[0] };
        self.update(set, way, buffers);
        set
    }

    pub(crate) fn update(&self, set: vk::DescriptorSet, way: Way, buffers: [Held; 3]) {
        let infos = infos(buffers);
        let kind = match way {
            Way::Dynamic => vk::DescriptorType::STORAGE_BUFFER_DYNAMIC,
            _ => vk::DescriptorType::STORAGE_BUFFER,
        };
        let write = vk::WriteDescriptorSet::default().dst_set(set).descriptor_type(kind).buffer_info(&infos);
        unsafe { self.device.update_descriptor_sets(&[write], &[]) };
    }

    pub(crate) fn pool(&self) -> vk::CommandPool {
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
        unsafe { self.device.create_command_pool(&info, None).expect("a pool") }
    }

    pub(crate) fn commands(&self, pool: vk::CommandPool, level: vk::CommandBufferLevel) -> vk::CommandBuffer {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).level(level);
        let info = info.command_buffer_count(1);
        unsafe { self.device.allocate_command_buffers(&info).expect("a command buffer")[0] }
    }

    pub(crate) fn begin(&self, commands: vk::CommandBuffer, flags: vk::CommandBufferUsageFlags) {
        let info = vk::CommandBufferBeginInfo::default().flags(flags);
        unsafe { self.device.begin_command_buffer(commands, &info).expect("it begins") };
    }

    /// A dispatch with a set, of as many floats as its buffers have.
    pub(crate) fn dispatch(
        &self,
        to: vk::CommandBuffer,
        kernel: Kernel,
        way: Way,
        set: vk::DescriptorSet,
        len: usize,
    ) {
        self.bind(to, kernel, way, len);
        let offsets: &[u32] = if way == Way::Dynamic { &[0; 3] } else { &[] };
        let point = vk::PipelineBindPoint::COMPUTE;
        let layout = self.layout[way as usize];
        unsafe { self.device.cmd_bind_descriptor_sets(to, point, layout, 0, &[set], offsets) };
        unsafe { self.device.cmd_dispatch(to, len.div_ceil(256) as u32, 1, 1) };
    }

    pub(crate) fn dispatch_pushed(&self, to: vk::CommandBuffer, kernel: Kernel, buffers: [Held; 3]) {
        let len = buffers[0].len;
        self.bind(to, kernel, Way::Pushed, len);
        let infos = infos(buffers);
        let write = vk::WriteDescriptorSet::default().buffer_info(&infos);
        let write = write.descriptor_type(vk::DescriptorType::STORAGE_BUFFER);
        let (point, layout) = (vk::PipelineBindPoint::COMPUTE, self.layout[Way::Pushed as usize]);
        unsafe { self.push.cmd_push_descriptor_set(to, point, layout, 0, &[write]) };
        unsafe { self.device.cmd_dispatch(to, len.div_ceil(256) as u32, 1, 1) };
    }

    pub(crate) fn bind(&self, to: vk::CommandBuffer, kernel: Kernel, way: Way, len: usize) {
        let (point, layout) = (vk::PipelineBindPoint::COMPUTE, self.layout[way as usize]);
        let pipeline = self.pipelines[way as usize][kernel as usize];
        unsafe { self.device.cmd_bind_pipeline(to, point, pipeline) };
        let stages = vk::ShaderStageFlags::COMPUTE;
        let bytes = (len as u32).to_ne_bytes();
        unsafe { self.device.cmd_push_constants(to, layout, stages, 0, &bytes) };
    }

    pub(crate) fn layout(&self, way: Way) -> vk::PipelineLayout {
        self.layout[way as usize]
    }

    /// A layout as that of sets, of the caller's own.
    pub(crate) fn other_layout(&self) -> vk::PipelineLayout {
        let ranges =
            [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 4 }];
        let sets = [self.layouts[0]];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&ranges);
        unsafe { self.device.create_pipeline_layout(&info, None).expect("a layout") }
    }

    pub(crate) fn barrier(&self, to: vk::CommandBuffer) {
        let access = vk::AccessFlags::SHADER_READ
            | vk::AccessFlags::SHADER_WRITE
            | vk::AccessFlags::TRANSFER_READ
            | vk::AccessFlags::TRANSFER_WRITE;
        let barrier = [vk::MemoryBarrier::default().src_access_mask(access).dst_access_mask(access)];
        let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
        let none = vk::DependencyFlags::empty();
        unsafe { self.device.cmd_pipeline_barrier(to, stages, stages, none, &barrier, &[], &[]) };
    }

    /// Makes everything visible to the host, and ends the recording.
    pub(crate) fn end(&self, to: vk::CommandBuffer) {
        let barrier = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(vk::AccessFlags::HOST_READ)];
        let (from, until) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::PipelineStageFlags::HOST);
        let none = vk::DependencyFlags::empty();
        unsafe { self.device.cmd_pipeline_barrier(to, from, until, none, &barrier, &[], &[]) };
        unsafe { self.device.end_command_buffer(to).expect("it ends") };
    }

    /// Submits, and waits.
    pub(crate) fn run(&self, commands: &[vk::CommandBuffer]) {
        self.submit(&[vk::SubmitInfo::default().command_buffers(commands)], commands.len() as u64);
    }

    /// Submits batches, which hold `count` command buffers, and waits.
    pub(crate) fn submit(&self, batches: &[vk::SubmitInfo<'_>], count: u64) {
        let info = vk::FenceCreateInfo::default();
        let fence = unsafe { self.device.create_fence(&info, None).expect("a fence") };
        self.submitted.fetch_add(count, Ordering::Relaxed);
        let queue = self.queue.lock().expect("the queue");
        unsafe { self.device.queue_submit(*queue, batches, fence).expect("it is submitted") };
        drop(queue);
        unsafe { self.device.wait_for_fences(&[fence], true, u64::MAX).expect("it is done") };
        unsafe { self.device.destroy_fence(fence, None) };
    }
}

fn infos(buffers: [Held; 3]) -> [vk::DescriptorBufferInfo; 3] {
    buffers.map(|held| vk::DescriptorBufferInfo { buffer: held.buffer, offset: 0, range: vk::WHOLE_SIZE })
}

impl Drop for Rig {
    fn drop(&mut self) {
        eprintln!("{} command buffers submitted", self.submitted.load(Ordering::Relaxed));
        unsafe {
            self.device.device_wait_idle().expect("it is idle");
            self.pipelines.iter().flatten().for_each(|one| self.device.destroy_pipeline(*one, None));
            self.layout.iter().for_each(|one| self.device.destroy_pipeline_layout(*one, None));
            self.layouts.iter().for_each(|one| self.device.destroy_descriptor_set_layout(*one, None));
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
