//! A Vulkan device that the test makes itself, through `ash`, as a program with an engine of its own would.

// A module of a test is reached from nowhere else.
#![allow(unreachable_pub)]

use std::{
    ffi::{CStr, c_void},
    io::Write as _,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use ash::vk;
use vkfuse::{
    Buffer, CacheOptions, Context, ContextOptions, RawBuffer, RawDevice, RawHandles, Tuning, UserBuffer,
};

const VALIDATION: &CStr = c"VK_LAYER_KHRONOS_validation";

/// What a device is made with.
#[derive(Clone, Copy)]
pub struct Made {
    pub version: u32,
    pub timeline: bool,
    pub synchronization2: bool,
    pub push_descriptors: bool,
    /// Descriptors of buffers that are updated after they were bound, where the device has them.
    pub after_bind: bool,
    /// Most bytes of push constants of fused kernels.
    pub push_bytes: Option<u32>,
}

impl Default for Made {
    fn default() -> Made {
        Made {
            version: vk::API_VERSION_1_3,
            timeline: true,
            synchronization2: true,
            push_descriptors: true,
            after_bind: false,
            push_bytes: None,
        }
    }
}

/// A device with everything that the test needs of it.
pub struct Own {
    pub entry: ash::Entry,
    pub instance: ash::Instance,
    pub physical: vk::PhysicalDevice,
    pub device: ash::Device,
    pub family: u32,
    pub queue: vk::Queue,
    pub pool: vk::CommandPool,
    /// Whether descriptors of buffers may be updated after they were bound.
    pub after_bind: bool,
    /// Without a queue.
    pub raw: RawDevice,
    push_bytes: Option<u32>,
    messages: &'static AtomicU64,
    messenger: Option<(ash::ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
}

/// A buffer with memory of its own, mapped.
pub struct Bytes {
    pub buffer: vk::Buffer,
    pub memory: vk::DeviceMemory,
    pub size: u64,
    pub mapped: *mut u32,
}

pub const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw(),
);

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

impl Own {
    /// Opens the first device. Without one the test is skipped, or fails where one is required.
    pub fn open(made: Made) -> Option<Own> {
        super::crash::is_told();
        // SAFETY: everything here is plain use of Vulkan, under its validation layer.
        let own = unsafe { Own::make(made) };
        if own.is_none() {
            assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device");
            let _ = writeln!(std::io::stderr(), "SKIPPED: no device");
        }
        own
    }

    unsafe fn make(made: Made) -> Option<Own> {
        // SAFETY: plain use of Vulkan: each handle is made from the one before it.
        unsafe {
            let entry = ash::Entry::load().ok()?;
            let layers = entry.enumerate_instance_layer_properties().ok()?;
            let has_layer = layers.iter().any(|layer| layer.layer_name_as_c_str() == Ok(VALIDATION));
            let names = [VALIDATION.as_ptr()];
            let extensions = [ash::ext::debug_utils::NAME.as_ptr()];
            let application = vk::ApplicationInfo::default().api_version(made.version);
            let mut info = vk::InstanceCreateInfo::default().application_info(&application);
            if has_layer {
                info = info.enabled_layer_names(&names).enabled_extension_names(&extensions);
            }
            let instance = entry.create_instance(&info, None).ok()?;
            let messages: &'static AtomicU64 = Box::leak(Box::default());
            let messenger = has_layer.then(|| {
                let loader = ash::ext::debug_utils::Instance::new(&entry, &instance);
                let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
                    .message_severity(
                        vk::DebugUtilsMessageSeverityFlagsEXT::ERROR
                            | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING,
                    )
                    .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
                    .pfn_user_callback(Some(heard))
                    .user_data(std::ptr::from_ref(messages).cast_mut().cast());
                let messenger = loader.create_debug_utils_messenger(&info, None).expect("a messenger");
                (loader, messenger)
            });
            let physical = *instance.enumerate_physical_devices().ok()?.first()?;
            let families = instance.get_physical_device_queue_family_properties(physical);
            let family =
                families.iter().position(|f| f.queue_flags.contains(vk::QueueFlags::COMPUTE))? as u32;
            let queues =
                [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
            let mut timeline =
                vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(made.timeline);
            let mut sync =
                vk::PhysicalDeviceSynchronization2Features::default().synchronization2(made.synchronization2);
            let mut indexing = vk::PhysicalDeviceDescriptorIndexingFeatures::default();
            let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut indexing);
            if made.after_bind {
                instance.get_physical_device_features2(physical, &mut features);
            }
            let after_bind = indexing.descriptor_binding_storage_buffer_update_after_bind == vk::TRUE
                && indexing.descriptor_binding_uniform_buffer_update_after_bind == vk::TRUE;
            let mut indexing = vk::PhysicalDeviceDescriptorIndexingFeatures::default()
                .descriptor_binding_storage_buffer_update_after_bind(true)
                .descriptor_binding_uniform_buffer_update_after_bind(true);
            let push = [ash::khr::push_descriptor::NAME.as_ptr()];
            let mut info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
            if made.version >= vk::API_VERSION_1_3 {
                info = info.push_next(&mut timeline).push_next(&mut sync);
            }
            if after_bind {
                info = info.push_next(&mut indexing);
            }
            if made.push_descriptors {
                info = info.enabled_extension_names(&push);
            }
            let device = instance.create_device(physical, &info, None).ok()?;
            let queue = device.get_device_queue(family, 0);
            let pool = vk::CommandPoolCreateInfo::default().queue_family_index(family);
            let pool = device.create_command_pool(&pool, None).ok()?;
            let raw = RawDevice::new(&RawHandles {
                get_instance_proc_addr: entry.static_fn().get_instance_proc_addr,
                api_version: made.version,
                instance: instance.handle(),
                physical_device: physical,
                device: device.handle(),
                create_info: &info,
            });
            let push_bytes = made.push_bytes;
            Some(Own {
                entry,
                instance,
                physical,
                device,
                family,
                queue,
                pool,
                after_bind,
                raw,
                push_bytes,
                messages,
                messenger,
            })
        }
    }

    pub fn context(&self) -> Context {
        self.context_on(&self.raw.clone().queue(self.family, 0)).expect("a context")
    }

    pub fn context_on(&self, raw: &RawDevice) -> Result<Context, vkfuse::Error> {
        let options = ContextOptions::new().cache(CacheOptions::default().no_disk());
        let tuning = self.push_bytes.into_iter().fold(Tuning::new(), Tuning::push_bytes);
        Context::from_raw(raw, options.tuning(tuning))
    }

    /// A buffer of this many words, each with a value.
    pub fn buffer(&self, words: &[u32], usage: vk::BufferUsageFlags) -> Bytes {
        let size = size_of_val(words) as u64;
        // SAFETY: plain use of Vulkan; the mapping has room for the words.
        unsafe {
            let info = vk::BufferCreateInfo::default().size(size).usage(usage);
            let buffer = self.device.create_buffer(&info, None).expect("a buffer");
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let types = self.instance.get_physical_device_memory_properties(self.physical);
            let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
            let index = (0..types.memory_type_count)
                .find(|index| {
                    needs.memory_type_bits & (1 << index) != 0
                        && types.memory_types[*index as usize].property_flags.contains(wanted)
                })
                .expect("memory that the host sees");
            let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(index);
            let memory = self.device.allocate_memory(&info, None).expect("memory");
            self.device.bind_buffer_memory(buffer, memory, 0).expect("bound memory");
            let mapped = self
                .device
                .map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
                .expect("a mapping")
                .cast::<u32>();
            mapped.copy_from_nonoverlapping(words.as_ptr(), words.len());
            Bytes { buffer, memory, size, mapped }
        }
    }

    pub fn command_buffer(&self) -> vk::CommandBuffer {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
        // SAFETY: plain use of Vulkan.
        unsafe { self.device.allocate_command_buffers(&info) }.expect("a command buffer")[0]
    }

    /// Records a command buffer.
    pub fn recorded(&self, record: impl FnOnce(vk::CommandBuffer)) -> vk::CommandBuffer {
        let commands = self.command_buffer();
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        // SAFETY: plain use of Vulkan.
        unsafe { self.device.begin_command_buffer(commands, &info) }.expect("a beginning");
        record(commands);
        // SAFETY: as above.
        unsafe { self.device.end_command_buffer(commands) }.expect("an end");
        commands
    }

    /// Submits, waiting for and signalling semaphores with values.
    pub fn submit(
        &self,
        commands: vk::CommandBuffer,
        waits: &[(vk::Semaphore, u64)],
        signals: &[(vk::Semaphore, u64)],
    ) {
        let info = |(semaphore, value): &(vk::Semaphore, u64)| {
            vk::SemaphoreSubmitInfo::default()
                .semaphore(*semaphore)
                .value(*value)
                .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
        };
        let waits: Vec<_> = waits.iter().map(info).collect();
        let signals: Vec<_> = signals.iter().map(info).collect();
        let commands = [vk::CommandBufferSubmitInfo::default().command_buffer(commands)];
        let submit = [vk::SubmitInfo2::default()
            .wait_semaphore_infos(&waits)
            .command_buffer_infos(&commands)
            .signal_semaphore_infos(&signals)];
        // SAFETY: plain use of Vulkan; the tests do not submit from two threads at once.
        unsafe { self.device.queue_submit2(self.queue, &submit, vk::Fence::null()) }.expect("a submission");
    }

    pub fn wait_idle(&self) {
        // SAFETY: as above.
        unsafe { self.device.queue_wait_idle(self.queue) }.expect("an idle queue");
    }

    pub fn timeline(&self) -> vk::Semaphore {
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: plain use of Vulkan.
        unsafe { self.device.create_semaphore(&info, None) }.expect("a semaphore")
    }

    pub fn messages(&self) -> u64 {
        self.messages.load(Relaxed)
    }

    /// Destroys the device; its other objects have to be destroyed already. Fails if the validation layer has reported anything, also about
    /// objects that are left.
    pub fn close(self, buffers: Vec<Bytes>, semaphores: &[vk::Semaphore]) {
        // SAFETY: plain use of Vulkan; everything was waited for.
        unsafe {
            self.device.device_wait_idle().expect("an idle device");
            for bytes in buffers {
                self.device.destroy_buffer(bytes.buffer, None);
                self.device.free_memory(bytes.memory, None);
            }
            semaphores.iter().for_each(|semaphore| self.device.destroy_semaphore(*semaphore, None));
            self.device.destroy_command_pool(self.pool, None);
            self.device.destroy_device(None);
            let messages = self.messages();
            if let Some((loader, messenger)) = &self.messenger {
                loader.destroy_debug_utils_messenger(*messenger, None);
            }
            self.instance.destroy_instance(None);
            assert_eq!(messages, 0, "the validation layer complained");
        }
        drop(self.entry);
    }
}

impl Bytes {
    pub fn raw(&self, offset: u64, size: u64) -> RawBuffer {
        RawBuffer { buffer: self.buffer, usage: USAGE, offset, size, memory: Some((self.memory, 0)) }
    }

    /// All of it, in a context.
    pub fn import(&self, context: &Context) -> Buffer<u32> {
        self.import_part(context, 0, self.size)
    }

    pub fn import_part(&self, context: &Context, offset: u64, size: u64) -> Buffer<u32> {
        // SAFETY: the tests order their own uses of buffers, and destroy them last.
        let user = unsafe { UserBuffer::from_raw(&self.raw(offset, size)) };
        context.import(&user).expect("an import")
    }

    /// The words as the host sees them. Nothing that writes them is running.
    pub fn words(&self) -> Vec<u32> {
        // SAFETY: the mapping has as many.
        unsafe { std::slice::from_raw_parts(self.mapped, self.size as usize / 4) }.to_vec()
    }
}
