//! A program that submits through each kind of call. It runs in a process of its own, as a test of this binary, and prints what it
//! reads back at last.
//!
//! A value goes through a chain of kernels, `x * K + added` each, and each link is submitted in another way.
#![allow(unsafe_code)] // Plain use of Vulkan, on one device; everything is destroyed once it is idle.

use ash::vk;
use std::ffi::c_void;

/// Elements of each buffer.
pub(super) const N: u32 = 1000;
/// The value that each link multiplies with.
const K: u32 = 3;
/// Bytes between the numbers that are added: what any device takes for an offset.
const STRIDE: u64 = 256;

/// What comes out, element by element.
pub(super) fn expected() -> Vec<u32> {
    // Links with what each adds: the program's, in order.
    let added = [1, 2, 2, 1, 1, 2, 1, 1, 1, 1u32];
    (0..N).map(|i| added.iter().fold(i, |x, added| x.wrapping_mul(K).wrapping_add(*added))).collect()
}

/// A buffer with memory of its own.
struct Buffer {
    handle: vk::Buffer,
    memory: vk::DeviceMemory,
}

struct Program {
    device: ash::Device,
    push: ash::khr::push_descriptor::Device,
    queue: vk::Queue,
    commands: vk::CommandPool,
    set_layout: vk::DescriptorSetLayout,
    pushed_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    pushed: vk::PipelineLayout,
    sets: vk::DescriptorPool,
    pipelines: Vec<vk::Pipeline>,
}

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;
const DYNAMIC: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC;
const COMPUTE: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;

fn whole(buffer: &Buffer) -> vk::DescriptorBufferInfo {
    vk::DescriptorBufferInfo { buffer: buffer.handle, offset: 0, range: vk::WHOLE_SIZE }
}

fn word(buffer: &Buffer, offset: u64) -> vk::DescriptorBufferInfo {
    vk::DescriptorBufferInfo { buffer: buffer.handle, offset, range: 16 }
}

impl Program {
    unsafe fn buffer(&self, bytes: u64, memory_type: u32) -> Buffer {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::UNIFORM_BUFFER
            | vk::BufferUsageFlags::TRANSFER_DST
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::INDIRECT_BUFFER;
        let info = vk::BufferCreateInfo::default().size(bytes).usage(usage);
        // SAFETY: see the top.
        unsafe {
            let handle = self.device.create_buffer(&info, None).unwrap();
            let needs = self.device.get_buffer_memory_requirements(handle);
            let info =
                vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(memory_type);
            let memory = self.device.allocate_memory(&info, None).unwrap();
            self.device.bind_buffer_memory(handle, memory, 0).unwrap();
            Buffer { handle, memory }
        }
    }

    /// The words that are in a buffer, which change may change.
    unsafe fn mapped(&self, buffer: &Buffer, words: usize, change: impl FnOnce(&mut [u32])) {
        // SAFETY: see the top; the memory is visible to the host and has as many words.
        unsafe {
            let map = self.device.map_memory(buffer.memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty());
            change(std::slice::from_raw_parts_mut(map.unwrap().cast::<u32>(), words));
            self.device.unmap_memory(buffer.memory);
        }
    }

    unsafe fn begun(&self, pool: vk::CommandPool, level: vk::CommandBufferLevel) -> vk::CommandBuffer {
        let info = vk::CommandBufferAllocateInfo::default();
        let info = info.command_pool(pool).level(level).command_buffer_count(1);
        let inheritance = vk::CommandBufferInheritanceInfo::default();
        let begin = vk::CommandBufferBeginInfo::default().inheritance_info(&inheritance);
        // SAFETY: see the top.
        unsafe {
            let commands = self.device.allocate_command_buffers(&info).unwrap()[0];
            self.device.begin_command_buffer(commands, &begin).unwrap();
            commands
        }
    }

    unsafe fn barrier(&self, commands: vk::CommandBuffer) {
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        let access = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
        let memory = vk::MemoryBarrier::default().src_access_mask(access).dst_access_mask(access);
        let behind = all | vk::PipelineStageFlags::HOST;
        // SAFETY: see the top.
        unsafe {
            let none = vk::DependencyFlags::empty();
            self.device.cmd_pipeline_barrier(commands, all, behind, none, &[memory], &[], &[]);
        }
    }

    /// Binds the kernel and pushes the number of elements.
    unsafe fn kernel(&self, commands: vk::CommandBuffer, layout: vk::PipelineLayout) {
        let pipeline = self.pipelines[usize::from(layout == self.pushed)];
        // SAFETY: see the top.
        unsafe {
            self.device.cmd_bind_pipeline(commands, COMPUTE, pipeline);
            let stage = vk::ShaderStageFlags::COMPUTE;
            self.device.cmd_push_constants(commands, layout, stage, 0, &N.to_ne_bytes());
        }
    }

    unsafe fn set(&self) -> vk::DescriptorSet {
        let layouts = [self.set_layout];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.sets).set_layouts(&layouts);
        // SAFETY: see the top.
        unsafe { self.device.allocate_descriptor_sets(&info).unwrap()[0] }
    }

    /// A set by updates, whose uniform buffer gets its offset when it is bound.
    unsafe fn updated(&self, from: &Buffer, to: &Buffer, added: &Buffer) -> vk::DescriptorSet {
        // SAFETY: see the top.
        unsafe {
            let set = self.set();
            // Both storage buffers in one write, which goes over the end of the first binding.
            let (storage, uniform) = ([whole(from), whole(to)], [word(added, 0)]);
            let write = vk::WriteDescriptorSet::default().dst_set(set);
            let writes = [
                write.dst_binding(0).descriptor_type(STORAGE).buffer_info(&storage),
                write.dst_binding(2).descriptor_type(DYNAMIC).buffer_info(&uniform),
            ];
            self.device.update_descriptor_sets(&writes, &[]);
            set
        }
    }

    unsafe fn bind(&self, commands: vk::CommandBuffer, set: vk::DescriptorSet, offset: u32) {
        // SAFETY: see the top.
        unsafe {
            self.device.cmd_bind_descriptor_sets(commands, COMPUTE, self.layout, 0, &[set], &[offset]);
        }
    }

    unsafe fn ended(&self, commands: vk::CommandBuffer) {
        // SAFETY: see the top.
        unsafe { self.device.end_command_buffer(commands).unwrap() };
    }

    unsafe fn pool(&self) -> vk::CommandPool {
        // SAFETY: see the top.
        unsafe { self.device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None).unwrap() }
    }
}

/// Work-groups of a dispatch.
const GROUPS: u32 = N.div_ceil(64);

/// Runs the program and returns what it read back.
pub(super) fn run(spirv: &[u32]) -> Vec<u32> {
    // SAFETY: see the top.
    unsafe {
        let entry = ash::Entry::load().expect("the loader");
        let app =
            vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3).application_name(c"submits");
        let instance = entry
            .create_instance(&vk::InstanceCreateInfo::default().application_info(&app), None)
            .expect("an instance");
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let mut timeline = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
        let mut synchronization = vk::PhysicalDeviceVulkan13Features::default().synchronization2(true);
        let extensions = [ash::khr::push_descriptor::NAME.as_ptr()];
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut timeline)
            .push_next(&mut synchronization);
        let device = instance.create_device(physical, &info, None).expect("a device");
        let memory = instance.get_physical_device_memory_properties(physical);
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let visible = memory.memory_types.iter().position(|kind| kind.property_flags.contains(wanted));
        let visible = visible.expect("memory that the host sees") as u32;

        let push = ash::khr::push_descriptor::Device::new(&instance, &device);
        let binding = |number: u32, kind| {
            let binding = vk::DescriptorSetLayoutBinding::default().binding(number).descriptor_type(kind);
            binding.descriptor_count(1).stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let set_layout = |uniform, flags| {
            let bindings = [binding(0, STORAGE), binding(1, STORAGE), binding(2, uniform)];
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings).flags(flags);
            device.create_descriptor_set_layout(&info, None).unwrap()
        };
        let own = set_layout(DYNAMIC, vk::DescriptorSetLayoutCreateFlags::empty());
        let pushed_set = set_layout(UNIFORM, vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR);
        let constants =
            [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 4 }];
        let pipeline_layout = |set| {
            let sets = [set];
            let info = vk::PipelineLayoutCreateInfo::default();
            let info = info.set_layouts(&sets).push_constant_ranges(&constants);
            device.create_pipeline_layout(&info, None).unwrap()
        };
        let (layout, pushed) = (pipeline_layout(own), pipeline_layout(pushed_set));
        let module = vk::ShaderModuleCreateInfo::default().code(spirv);
        let module = device.create_shader_module(&module, None).unwrap();
        let entries = [vk::SpecializationMapEntry { constant_id: 3, offset: 0, size: 4 }];
        let k = K.to_ne_bytes();
        let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&k);
        let pipelines = [layout, pushed].map(|layout| {
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main")
                .specialization_info(&specialization);
            let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout);
            device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None).unwrap()[0]
        });
        device.destroy_shader_module(module, None);
        let sizes = [STORAGE, DYNAMIC].map(|ty| vk::DescriptorPoolSize { ty, descriptor_count: 64 });
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(32).pool_sizes(&sizes);
        let program = Program {
            queue: device.get_device_queue(0, 0),
            commands: device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None).unwrap(),
            sets: device.create_descriptor_pool(&info, None).unwrap(),
            set_layout: own,
            pushed_layout: pushed_set,
            layout,
            pushed,
            pipelines: pipelines.to_vec(),
            push,
            device,
        };
        let out = program.submit_all(visible);
        program.destroy();
        instance.destroy_instance(None);
        out
    }
}

impl Program {
    unsafe fn submit_all(&self, visible: u32) -> Vec<u32> {
        let device = &self.device;
        let bytes = u64::from(4 * N);
        let primary = vk::CommandBufferLevel::PRIMARY;
        let mut pools = vec![self.commands];
        // SAFETY: see the top.
        unsafe {
            let values: Vec<Buffer> = (0..12).map(|_| self.buffer(bytes, visible)).collect();
            let added = self.buffer(2 * STRIDE, visible);
            let counts = self.buffer(16, visible);
            let filled = self.buffer(256, visible);
            self.mapped(&values[0], N as usize, |words| (0..).zip(words).for_each(|(i, word)| *word = i));
            // What is added: at the first place by an update, at the other by the host.
            self.mapped(&added, 128, |words| words[STRIDE as usize / 4] = 2);
            let at = |place: u32| place * STRIDE as u32;

            // Transfers, and two dispatches by sets that were updated; one submission, and a fence.
            let commands = self.begun(self.commands, primary);
            device.cmd_update_buffer(commands, added.handle, 0, &1u32.to_ne_bytes());
            device.cmd_fill_buffer(commands, filled.handle, 0, vk::WHOLE_SIZE, 0xffff_fff0);
            device.cmd_update_buffer(
                commands,
                counts.handle,
                4,
                &[GROUPS, 1, 1].map(u32::to_ne_bytes).concat(),
            );
            self.barrier(commands);
            self.kernel(commands, self.layout);
            self.bind(commands, self.updated(&values[0], &values[1], &added), at(0));
            device.cmd_dispatch(commands, GROUPS, 1, 1);
            self.barrier(commands);
            self.bind(commands, self.updated(&values[1], &values[2], &added), at(1));
            device.cmd_dispatch(commands, GROUPS, 1, 1);
            self.ended(commands);
            let fence = device.create_fence(&vk::FenceCreateInfo::default(), None).unwrap();
            let buffers = [commands];
            device
                .queue_submit(self.queue, &[vk::SubmitInfo::default().command_buffers(&buffers)], fence)
                .unwrap();
            device.wait_for_fences(&[fence], true, u64::MAX).unwrap();

            // A set by a template, pushed descriptors and a pushed template; the second form of submissions and a timeline.
            let commands = self.begun(self.commands, primary);
            self.kernel(commands, self.layout);
            let set = self.set();
            let data = [whole(&values[2]), whole(&values[3]), word(&added, 0)];
            let pointer = data.as_ptr().cast::<c_void>();
            let template = self.template(&[(0, 2, STORAGE), (2, 1, DYNAMIC)], None);
            device.update_descriptor_set_with_template(set, template, pointer);
            self.bind(commands, set, at(1));
            device.cmd_dispatch(commands, GROUPS, 1, 1);
            self.barrier(commands);
            self.kernel(commands, self.pushed);
            let storage = [whole(&values[3]), whole(&values[4])];
            let uniform = [word(&added, 0)];
            let write = vk::WriteDescriptorSet::default();
            let writes = [
                write.dst_binding(0).descriptor_type(STORAGE).buffer_info(&storage),
                write.dst_binding(2).descriptor_type(UNIFORM).buffer_info(&uniform),
            ];
            self.push.cmd_push_descriptor_set(commands, COMPUTE, self.pushed, 0, &writes);
            device.cmd_dispatch(commands, GROUPS, 1, 1);
            self.barrier(commands);
            let pushes = self.template(&[(0, 2, STORAGE), (2, 1, UNIFORM)], Some(self.pushed));
            let data = [whole(&values[4]), whole(&values[5]), word(&added, 0)];
            let pointer = data.as_ptr().cast::<c_void>();
            self.push.cmd_push_descriptor_set_with_template(commands, pushes, self.pushed, 0, pointer);
            device.cmd_dispatch_base(commands, 0, 0, 0, GROUPS, 1, 1);
            self.ended(commands);
            let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
            let semaphore = device.create_semaphore(&info, None).unwrap();
            let infos = [vk::CommandBufferSubmitInfo::default().command_buffer(commands)];
            let signals = [vk::SemaphoreSubmitInfo::default()
                .semaphore(semaphore)
                .value(1)
                .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)];
            let batch =
                vk::SubmitInfo2::default().command_buffer_infos(&infos).signal_semaphore_infos(&signals);

            // A secondary command buffer and counts from a buffer; a second batch that waits for the first.
            let secondary = self.begun(self.commands, vk::CommandBufferLevel::SECONDARY);
            self.kernel(secondary, self.layout);
            self.bind(secondary, self.updated(&values[5], &values[6], &added), at(1));
            device.cmd_dispatch(secondary, GROUPS, 1, 1);
            self.barrier(secondary);
            self.bind(secondary, self.updated(&values[6], &values[7], &added), at(0));
            device.cmd_dispatch_indirect(secondary, counts.handle, 4);
            self.ended(secondary);
            let commands = self.begun(self.commands, primary);
            device.cmd_execute_commands(commands, &[secondary]);
            self.ended(commands);
            let waits = [signals[0]];
            let infos = [vk::CommandBufferSubmitInfo::default().command_buffer(commands)];
            let second = vk::SubmitInfo2::default().command_buffer_infos(&infos).wait_semaphore_infos(&waits);
            device.queue_submit2(self.queue, &[batch, second], vk::Fence::null()).unwrap();
            let (semaphores, values_) = ([semaphore], [1]);
            let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values_);
            device.wait_semaphores(&wait, u64::MAX).unwrap();
            device.queue_wait_idle(self.queue).unwrap();

            // Two threads record at the same time; one of them what is not captured in part.
            let event = device.create_event(&vk::EventCreateInfo::default(), None).unwrap();
            let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(1);
            let queries = device.create_query_pool(&info, None).unwrap();
            let (first, second) = (self.pool(), self.pool());
            pools.extend([first, second]);
            let sets = [(7, 8), (8, 9)].map(|(from, to)| self.updated(&values[from], &values[to], &added));
            let recorded: Vec<vk::CommandBuffer> = std::thread::scope(|scope| {
                let threads = [(first, sets[0]), (second, sets[1])].map(|(pool, set)| {
                    scope.spawn(move || {
                        let commands = self.begun(pool, primary);
                        self.kernel(commands, self.layout);
                        self.bind(commands, set, at(0));
                        device.cmd_dispatch(commands, GROUPS, 1, 1);
                        self.barrier(commands);
                        self.ended(commands);
                        commands
                    })
                });
                threads.map(|thread| thread.join().unwrap()).to_vec()
            });
            let submit = |buffers: &[vk::CommandBuffer]| {
                let batch = [vk::SubmitInfo::default().command_buffers(buffers)];
                device.queue_submit(self.queue, &batch, vk::Fence::null()).unwrap();
                device.queue_wait_idle(self.queue).unwrap();
            };
            submit(&recorded);
            // These are seen dead; what is destroyed after the next submission is not, for that may read anything.
            for value in &values[1..7] {
                device.destroy_buffer(value.handle, None);
                device.free_memory(value.memory, None);
            }

            let commands = self.begun(self.commands, primary);
            device.cmd_set_event(commands, event, vk::PipelineStageFlags::COMPUTE_SHADER);
            device.cmd_reset_query_pool(commands, queries, 0, 1);
            device.cmd_write_timestamp(commands, vk::PipelineStageFlags::TOP_OF_PIPE, queries, 0);
            self.kernel(commands, self.layout);
            self.bind(commands, self.updated(&values[9], &values[10], &added), at(0));
            device.cmd_dispatch(commands, GROUPS, 1, 1);
            self.barrier(commands);
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
            device.cmd_copy_query_pool_results(commands, queries, 0, 1, filled.handle, 0, 8, flags);
            self.ended(commands);
            submit(&[commands]);
            let info =
                vk::CopyBufferInfo2::default().src_buffer(values[10].handle).dst_buffer(values[11].handle);
            let regions = [vk::BufferCopy2::default().size(bytes)];
            let commands = self.begun(self.commands, primary);
            device.cmd_copy_buffer2(commands, &info.regions(&regions));
            self.ended(commands);
            submit(&[commands]);

            let mut out = Vec::new();
            self.mapped(&values[11], N as usize, |words| out.extend_from_slice(words));
            device.device_wait_idle().unwrap();
            device.destroy_event(event, None);
            device.destroy_query_pool(queries, None);
            device.destroy_semaphore(semaphore, None);
            device.destroy_fence(fence, None);
            device.destroy_descriptor_update_template(template, None);
            device.destroy_descriptor_update_template(pushes, None);
            for buffer in values[..1].iter().chain(&values[7..]).chain([&added, &counts, &filled]) {
                device.destroy_buffer(buffer.handle, None);
                device.free_memory(buffer.memory, None);
            }
            pools.iter().skip(1).for_each(|pool| device.destroy_command_pool(*pool, None));
            out
        }
    }

    /// A template for these bindings, one after the other in an array: of a set, or pushed for a layout.
    unsafe fn template(
        &self,
        bindings: &[(u32, u32, vk::DescriptorType)],
        pushed: Option<vk::PipelineLayout>,
    ) -> vk::DescriptorUpdateTemplate {
        let stride = size_of::<vk::DescriptorBufferInfo>();
        let entries = bindings.iter().map(|&(binding, count, kind)| {
            let entry = vk::DescriptorUpdateTemplateEntry::default().dst_binding(binding);
            let entry = entry.descriptor_count(count).descriptor_type(kind);
            entry.offset(binding as usize * stride).stride(stride)
        });
        let entries: Vec<_> = entries.collect();
        let info = vk::DescriptorUpdateTemplateCreateInfo::default().descriptor_update_entries(&entries);
        let info = match pushed {
            None => info.descriptor_set_layout(self.set_layout),
            Some(layout) => info
                .template_type(vk::DescriptorUpdateTemplateType::PUSH_DESCRIPTORS_KHR)
                .pipeline_bind_point(COMPUTE)
                .pipeline_layout(layout),
        };
        // SAFETY: see the top.
        unsafe { self.device.create_descriptor_update_template(&info, None).unwrap() }
    }

    unsafe fn destroy(self) {
        // SAFETY: see the top.
        unsafe {
            self.pipelines.iter().for_each(|pipeline| self.device.destroy_pipeline(*pipeline, None));
            self.device.destroy_command_pool(self.commands, None);
            self.device.destroy_descriptor_pool(self.sets, None);
            for layout in [self.layout, self.pushed] {
                self.device.destroy_pipeline_layout(layout, None);
            }
            for layout in [self.set_layout, self.pushed_layout] {
                self.device.destroy_descriptor_set_layout(layout, None);
            }
            self.device.destroy_device(None);
        }
    }
}
