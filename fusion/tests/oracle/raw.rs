//! Plain Vulkan: a list of dispatches with the modules as they are, in order, with a full barrier between any two.
//!
//! Nothing here knows of the engine. Entry points, specialization constants, sub-group sizes, push constants and ranges reach the
//! driver by the means of Vulkan's specification.

// A program that talks to Vulkan itself.
#![allow(unsafe_code)]

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{CStr, CString, c_void},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use ash::vk;

use super::words::{self, Controls, Kind};

const VALIDATION: &CStr = c"VK_LAYER_KHRONOS_validation";

/// Nanoseconds after which a list does not end.
const PATIENCE: u64 = 60_000_000_000;

/// A value of a specialization constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Constant {
    pub(crate) id: u32,
    pub(crate) bytes: Vec<u8>,
}

/// A range of a buffer at a binding.
#[derive(Clone, Debug)]
pub(crate) struct Arg {
    pub(crate) set: u32,
    pub(crate) binding: u32,
    pub(crate) element: u32,
    /// By number.
    pub(crate) buffer: usize,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// A dispatch.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) words: Arc<[u32]>,
    pub(crate) entry: String,
    pub(crate) constants: Vec<Constant>,
    /// The size of sub-groups that is asked for.
    pub(crate) subgroup: Option<u32>,
    pub(crate) push: Vec<u8>,
    pub(crate) base: [u32; 3],
    pub(crate) groups: [u32; 3],
    pub(crate) args: Vec<Arg>,
}

/// The kinds and numbers of descriptors of each set, by binding.
type Shape = Vec<BTreeMap<u32, (vk::DescriptorType, u32)>>;

/// What a pipeline is made of, besides the words of its module.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    /// Where the words are: they stay there as long as the pipeline.
    words: usize,
    entry: String,
    constants: Vec<Constant>,
    subgroup: Option<u32>,
    push: usize,
    base: bool,
    shape: Vec<(usize, u32, i32, u32)>,
}

struct Pipeline {
    _words: Arc<[u32]>,
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    sets: Vec<vk::DescriptorSetLayout>,
    shape: Shape,
}

/// A device with all features that it has but robust access.
pub(crate) struct Device {
    _entry: ash::Entry,
    instance: ash::Instance,
    physical: vk::PhysicalDevice,
    device: ash::Device,
    queue: vk::Queue,
    pool: vk::CommandPool,
    pipelines: HashMap<Key, Pipeline>,
    messages: &'static AtomicU64,
    messenger: Option<(ash::ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    /// What it can be asked for.
    pub(crate) controls: Controls,
    /// The sizes of sub-groups that a compute pipeline can ask for.
    pub(crate) subgroup_sizes: Vec<u32>,
}

unsafe extern "system" fn heard(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    count: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer's data, whose message is a string, and the counter that the messenger was made with.
    unsafe {
        let message = CStr::from_ptr((*data).p_message).to_string_lossy();
        if !message.contains("unknown VkStructureType") && !message.contains("not supported by this layer") {
            println!("{message}");
            (*count.cast::<AtomicU64>()).fetch_add(1, Relaxed);
        }
    }
    vk::FALSE
}

impl Device {
    /// Opens the device of this name.
    pub(crate) fn open(name: &str, validation: bool) -> Option<Device> {
        // SAFETY: plain use of Vulkan: each handle is made from the one before it.
        unsafe {
            let entry = ash::Entry::load().ok()?;
            let layers = entry.enumerate_instance_layer_properties().ok()?;
            let is_it = |layer: &vk::LayerProperties| layer.layer_name_as_c_str() == Ok(VALIDATION);
            let has_layer = validation && layers.iter().any(is_it);
            let names = [VALIDATION.as_ptr()];
            let extensions = [ash::ext::debug_utils::NAME.as_ptr()];
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let mut info = vk::InstanceCreateInfo::default().application_info(&application);
            if has_layer {
                info = info.enabled_layer_names(&names).enabled_extension_names(&extensions);
            }
            let instance = entry.create_instance(&info, None).ok()?;
            let messages: &'static AtomicU64 = Box::leak(Box::default());
            let messenger = has_layer.then(|| {
                let loader = ash::ext::debug_utils::Instance::new(&entry, &instance);
                let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
                    .message_severity(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR)
                    .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
                    .pfn_user_callback(Some(heard))
                    .user_data(std::ptr::from_ref(messages).cast_mut().cast());
                let messenger = loader.create_debug_utils_messenger(&info, None).expect("a messenger");
                (loader, messenger)
            });
            let named = |physical: &vk::PhysicalDevice| {
                let properties = instance.get_physical_device_properties(*physical);
                properties.device_name_as_c_str().is_ok_and(|one| one.to_string_lossy() == name)
            };
            let physical = instance.enumerate_physical_devices().ok()?.into_iter().find(named)?;
            let families = instance.get_physical_device_queue_family_properties(physical);
            let family =
                families.iter().position(|f| f.queue_flags.contains(vk::QueueFlags::COMPUTE))? as u32;
            let device = Self::make(&instance, physical, family)?;
            let queue = device.get_device_queue(family, 0);
            let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
            let pool = device.create_command_pool(&info, None).ok()?;
            let mut floats = vk::PhysicalDeviceVulkan12Properties::default();
            let mut sizes = vk::PhysicalDeviceVulkan13Properties::default();
            let mut properties =
                vk::PhysicalDeviceProperties2::default().push_next(&mut floats).push_next(&mut sizes);
            instance.get_physical_device_properties2(physical, &mut properties);
            let (least, most) = (sizes.min_subgroup_size, sizes.max_subgroup_size);
            let in_range = |size: &u32| (least..=most).contains(size);
            let can_ask = sizes.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE);
            let subgroup_sizes =
                (0..8).map(|log| 1 << log).filter(|size| can_ask && in_range(size)).collect();
            let controls = Controls {
                special: [
                    floats.shader_signed_zero_inf_nan_preserve_float16,
                    floats.shader_signed_zero_inf_nan_preserve_float32,
                    floats.shader_signed_zero_inf_nan_preserve_float64,
                ]
                .map(|can| can == vk::TRUE),
                denormals: [
                    floats.shader_denorm_preserve_float16,
                    floats.shader_denorm_preserve_float32,
                    floats.shader_denorm_preserve_float64,
                ]
                .map(|can| can == vk::TRUE),
                rounding: [
                    floats.shader_rounding_mode_rte_float16,
                    floats.shader_rounding_mode_rte_float32,
                    floats.shader_rounding_mode_rte_float64,
                ]
                .map(|can| can == vk::TRUE),
            };
            let pipelines = HashMap::new();
            Some(Device {
                _entry: entry,
                instance,
                physical,
                device,
                queue,
                pool,
                pipelines,
                messages,
                messenger,
                controls,
                subgroup_sizes,
            })
        }
    }

    unsafe fn make(
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
        family: u32,
    ) -> Option<ash::Device> {
        // SAFETY: plain use of Vulkan; structures are chained whose extension the device has.
        unsafe {
            let known = instance.enumerate_device_extension_properties(physical).ok()?;
            let has = |name: &CStr| known.iter().any(|one| one.extension_name_as_c_str() == Ok(name));
            let mut names = Vec::new();
            let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
            let mut v12 = vk::PhysicalDeviceVulkan12Features::default();
            let mut v13 = vk::PhysicalDeviceVulkan13Features::default();
            let mut shared = vk::PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR::default();
            let mut atomics = vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT::default();
            let mut flow = vk::PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR::default();
            let mut features = vk::PhysicalDeviceFeatures2::default()
                .push_next(&mut v11)
                .push_next(&mut v12)
                .push_next(&mut v13);
            if has(ash::khr::workgroup_memory_explicit_layout::NAME) {
                names.push(ash::khr::workgroup_memory_explicit_layout::NAME.as_ptr());
                features = features.push_next(&mut shared);
            }
            if has(ash::ext::shader_atomic_float::NAME) {
                names.push(ash::ext::shader_atomic_float::NAME.as_ptr());
                features = features.push_next(&mut atomics);
            }
            if has(ash::khr::shader_subgroup_uniform_control_flow::NAME) {
                names.push(ash::khr::shader_subgroup_uniform_control_flow::NAME.as_ptr());
                features = features.push_next(&mut flow);
            }
            instance.get_physical_device_features2(physical, &mut features);
            features.features.robust_buffer_access = vk::FALSE;
            let queues =
                [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
            let info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(&names)
                .push_next(&mut features);
            instance.create_device(physical, &info, None).ok()
        }
    }

    /// How often the validation layer complained.
    pub(crate) fn messages(&self) -> u64 {
        self.messages.load(Relaxed)
    }

    /// How many pipelines there are.
    pub(crate) fn pipelines(&self) -> usize {
        self.pipelines.len()
    }

    /// Runs the calls on buffers of these contents, and returns the contents that they have then.
    pub(crate) fn run(&mut self, calls: &[Call], contents: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        let keys: Vec<Key> = calls.iter().map(|call| self.pipeline(call)).collect::<Result<_, _>>()?;
        // SAFETY: plain use of Vulkan; everything is destroyed after the queue is idle.
        unsafe {
            let buffers: Vec<Bytes> = contents.iter().map(|bytes| self.buffer(bytes)).collect();
            let (storage, uniform) = (vk::DescriptorType::STORAGE_BUFFER, vk::DescriptorType::UNIFORM_BUFFER);
            let count = 64 * calls.len() as u32;
            let sizes =
                [storage, uniform].map(|ty| vk::DescriptorPoolSize::default().ty(ty).descriptor_count(count));
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(count).pool_sizes(&sizes);
            let pool = self.device.create_descriptor_pool(&info, None).map_err(|e| e.to_string())?;
            let recorded = self.record(calls, &keys, &buffers, pool);
            let ended = recorded.and_then(|commands| self.finish(commands));
            let result = buffers.iter().zip(contents).map(|(buffer, bytes)| buffer.bytes(bytes.len()));
            let result: Vec<Vec<u8>> = result.collect();
            self.device.destroy_descriptor_pool(pool, None);
            for buffer in buffers {
                self.device.destroy_buffer(buffer.buffer, None);
                self.device.free_memory(buffer.memory, None);
            }
            ended.map(|()| result)
        }
    }

    unsafe fn record(
        &self,
        calls: &[Call],
        keys: &[Key],
        buffers: &[Bytes],
        pool: vk::DescriptorPool,
    ) -> Result<vk::CommandBuffer, String> {
        let d = &self.device;
        let point = vk::PipelineBindPoint::COMPUTE;
        let stage = vk::ShaderStageFlags::COMPUTE;
        // SAFETY: plain use of Vulkan.
        unsafe {
            let info =
                vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
            let commands = d.allocate_command_buffers(&info).map_err(|e| e.to_string())?[0];
            d.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default())
                .map_err(|e| e.to_string())?;
            for (call, key) in calls.iter().zip(keys) {
                let Pipeline { pipeline, layout, sets, shape, .. } = &self.pipelines[key];
                let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(sets);
                let bound = match sets.is_empty() {
                    true => Vec::new(),
                    false => d.allocate_descriptor_sets(&info).map_err(|e| e.to_string())?,
                };
                for arg in &call.args {
                    let range = [vk::DescriptorBufferInfo::default()
                        .buffer(buffers[arg.buffer].buffer)
                        .offset(arg.offset)
                        .range(arg.len)];
                    let write = vk::WriteDescriptorSet::default()
                        .dst_set(bound[arg.set as usize])
                        .dst_binding(arg.binding)
                        .dst_array_element(arg.element)
                        .descriptor_type(shape[arg.set as usize][&arg.binding].0)
                        .buffer_info(&range);
                    d.update_descriptor_sets(&[write], &[]);
                }
                d.cmd_bind_pipeline(commands, point, *pipeline);
                if !bound.is_empty() {
                    d.cmd_bind_descriptor_sets(commands, point, *layout, 0, &bound, &[]);
                }
                if !call.push.is_empty() {
                    d.cmd_push_constants(commands, *layout, stage, 0, &call.push);
                }
                let ([x, y, z], [w, h, l]) = (call.base, call.groups);
                if call.base == [0; 3] {
                    d.cmd_dispatch(commands, w, h, l);
                } else {
                    d.cmd_dispatch_base(commands, x, y, z, w, h, l);
                }
                let all = vk::PipelineStageFlags::ALL_COMMANDS;
                let memory = [vk::MemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
                    .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)];
                d.cmd_pipeline_barrier(
                    commands,
                    all,
                    all | vk::PipelineStageFlags::HOST,
                    vk::DependencyFlags::empty(),
                    &memory,
                    &[],
                    &[],
                );
            }
            d.end_command_buffer(commands).map_err(|e| e.to_string())?;
            Ok(commands)
        }
    }

    unsafe fn finish(&self, commands: vk::CommandBuffer) -> Result<(), String> {
        let d = &self.device;
        // SAFETY: plain use of Vulkan.
        unsafe {
            let fence = d.create_fence(&vk::FenceCreateInfo::default(), None).map_err(|e| e.to_string())?;
            let all = [commands];
            let submit = [vk::SubmitInfo::default().command_buffers(&all)];
            d.queue_submit(self.queue, &submit, fence).map_err(|e| e.to_string())?;
            let ended = d.wait_for_fences(&[fence], true, PATIENCE).map_err(|e| e.to_string());
            d.queue_wait_idle(self.queue).map_err(|e| e.to_string())?;
            d.destroy_fence(fence, None);
            d.free_command_buffers(self.pool, &all);
            ended
        }
    }

    /// Finds or makes the pipeline of a call.
    fn pipeline(&mut self, call: &Call) -> Result<Key, String> {
        let declared = words::descriptors(&call.words);
        let sets = call.args.iter().map(|arg| arg.set as usize + 1).max().unwrap_or(0);
        let mut shape: Shape = vec![BTreeMap::new(); sets];
        for arg in &call.args {
            let ty = match declared.get(&(arg.set, arg.binding)) {
                Some(Kind::Storage) | None => vk::DescriptorType::STORAGE_BUFFER,
                Some(Kind::Uniform) => vk::DescriptorType::UNIFORM_BUFFER,
                Some(Kind::Other) => return Err("a descriptor that is no buffer".to_owned()),
            };
            let slot = shape[arg.set as usize].entry(arg.binding).or_insert((ty, 0));
            slot.1 = slot.1.max(arg.element + 1);
        }
        let flat = shape.iter().enumerate().flat_map(|(set, bindings)| {
            bindings.iter().map(move |(binding, (ty, count))| (set, *binding, ty.as_raw(), *count))
        });
        let key = Key {
            words: call.words.as_ptr() as usize,
            entry: call.entry.clone(),
            constants: call.constants.clone(),
            subgroup: call.subgroup,
            push: call.push.len(),
            base: call.base != [0; 3],
            shape: flat.collect(),
        };
        if !self.pipelines.contains_key(&key) {
            // SAFETY: plain use of Vulkan.
            let made = unsafe { self.make_pipeline(call, shape) }?;
            self.pipelines.insert(key.clone(), made);
        }
        Ok(key)
    }

    unsafe fn make_pipeline(&self, call: &Call, shape: Shape) -> Result<Pipeline, String> {
        let d = &self.device;
        let failed = |error: vk::Result| error.to_string();
        let stage = vk::ShaderStageFlags::COMPUTE;
        // SAFETY: plain use of Vulkan.
        unsafe {
            let mut sets = Vec::new();
            for bindings in &shape {
                let bindings: Vec<_> = bindings
                    .iter()
                    .map(|(binding, (ty, count))| {
                        vk::DescriptorSetLayoutBinding::default()
                            .binding(*binding)
                            .descriptor_type(*ty)
                            .descriptor_count(*count)
                            .stage_flags(stage)
                    })
                    .collect();
                let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
                sets.push(d.create_descriptor_set_layout(&info, None).map_err(failed)?);
            }
            let size = (call.push.len() as u32).next_multiple_of(4);
            let range = [vk::PushConstantRange::default().stage_flags(stage).size(size)];
            let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            if size > 0 {
                info = info.push_constant_ranges(&range);
            }
            let layout = d.create_pipeline_layout(&info, None).map_err(failed)?;
            let info = vk::ShaderModuleCreateInfo::default().code(&call.words);
            let module = d.create_shader_module(&info, None).map_err(failed)?;
            let (mut entries, mut data) = (Vec::new(), Vec::new());
            for Constant { id, bytes } in &call.constants {
                let entry = vk::SpecializationMapEntry::default().constant_id(*id);
                entries.push(entry.offset(data.len() as u32).size(bytes.len()));
                data.extend_from_slice(bytes);
            }
            let constants = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
            let name = CString::new(call.entry.as_str()).map_err(|e| e.to_string())?;
            let mut required = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default();
            let mut stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(stage)
                .module(module)
                .name(&name)
                .specialization_info(&constants);
            if let Some(size) = call.subgroup {
                required = required.required_subgroup_size(size);
                stage = stage.push_next(&mut required);
            }
            let flags = match call.base {
                [0, 0, 0] => vk::PipelineCreateFlags::empty(),
                _ => vk::PipelineCreateFlags::DISPATCH_BASE,
            };
            let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout).flags(flags)];
            let made = d.create_compute_pipelines(vk::PipelineCache::null(), &info, None);
            d.destroy_shader_module(module, None);
            let pipeline = made.map_err(|(_, error)| failed(error))?[0];
            Ok(Pipeline { _words: call.words.clone(), pipeline, layout, sets, shape })
        }
    }

    /// A buffer of these contents, in memory that the host sees.
    unsafe fn buffer(&self, bytes: &[u8]) -> Bytes {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::UNIFORM_BUFFER;
        let info = vk::BufferCreateInfo::default().size(bytes.len().max(4) as u64).usage(usage);
        let d = &self.device;
        // SAFETY: plain use of Vulkan; the mapping has room for the bytes.
        unsafe {
            let buffer = d.create_buffer(&info, None).expect("a buffer");
            let needs = d.get_buffer_memory_requirements(buffer);
            let types = self.instance.get_physical_device_memory_properties(self.physical);
            let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
            let fits = |index: &u32| {
                let flags = types.memory_types[*index as usize].property_flags;
                needs.memory_type_bits & (1 << index) != 0 && flags.contains(wanted)
            };
            let index = (0..types.memory_type_count).find(fits).expect("memory that the host sees");
            let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(index);
            let memory = d.allocate_memory(&info, None).expect("memory");
            d.bind_buffer_memory(buffer, memory, 0).expect("bound memory");
            let mapped = d.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty());
            let mapped = mapped.expect("a mapping").cast::<u8>();
            mapped.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            Bytes { buffer, memory, mapped }
        }
    }
}

/// A buffer with memory of its own, mapped.
struct Bytes {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    mapped: *const u8,
}

impl Bytes {
    fn bytes(&self, len: usize) -> Vec<u8> {
        // SAFETY: this many were mapped, and no device writes them now.
        unsafe { std::slice::from_raw_parts(self.mapped, len) }.to_vec()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: plain use of Vulkan; every run waits for its end.
        unsafe {
            let d = &self.device;
            for one in self.pipelines.values() {
                d.destroy_pipeline(one.pipeline, None);
                d.destroy_pipeline_layout(one.layout, None);
                one.sets.iter().for_each(|set| d.destroy_descriptor_set_layout(*set, None));
            }
            d.destroy_command_pool(self.pool, None);
            d.destroy_device(None);
            if let Some((loader, messenger)) = &self.messenger {
                loader.destroy_debug_utils_messenger(*messenger, None);
            }
            self.instance.destroy_instance(None);
        }
    }
}
