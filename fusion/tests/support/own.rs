//! A device, memory and buffers that the test itself makes, as a program that imports them would.

// A buffer cannot be handed over in any other way.
#![allow(unsafe_code)]

use std::io::Write as _;
use std::ops::Range;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use bytemuck::Pod;
use vkfuse::{CacheOptions, Context, ContextOptions, UserBuffer};
use vulkano::VulkanLibrary;
use vulkano::buffer::{Buffer, BufferCreateInfo, BufferUsage, Subbuffer, sys::RawBuffer};
use vulkano::device::{
    Device, DeviceCreateInfo, DeviceFeatures, Queue, QueueCreateInfo, QueueFlags,
    physical::PhysicalDeviceType,
};
use vulkano::instance::debug::{
    DebugUtilsMessageSeverity, DebugUtilsMessageType, DebugUtilsMessenger, DebugUtilsMessengerCallback,
    DebugUtilsMessengerCreateInfo,
};
use vulkano::instance::{Instance, InstanceCreateInfo, InstanceExtensions};
use vulkano::memory::{
    DeviceMemory, MemoryAllocateFlags, MemoryAllocateInfo, MemoryMapInfo, MemoryPropertyFlags, ResourceMemory,
};

const VALIDATION: &str = "VK_LAYER_KHRONOS_validation";

/// A device of the test's own, under the validation layers where they are installed.
pub struct Own {
    pub device: Arc<Device>,
    /// Up to four of one family.
    pub queues: Vec<Arc<Queue>>,
    messages: Arc<AtomicU64>,
    _messenger: Option<DebugUtilsMessenger>,
}

fn instance() -> Option<(Arc<Instance>, Option<DebugUtilsMessenger>, Arc<AtomicU64>)> {
    let library = VulkanLibrary::new().ok()?;
    let has_layer = library.layer_properties().ok()?.any(|layer| layer.name() == VALIDATION);
    let messages = Arc::new(AtomicU64::new(0));
    let info = InstanceCreateInfo {
        enabled_layers: has_layer.then(|| VALIDATION.to_owned()).into_iter().collect(),
        enabled_extensions: InstanceExtensions { ext_debug_utils: has_layer, ..InstanceExtensions::empty() },
        ..InstanceCreateInfo::default()
    };
    let instance = Instance::new(library, info).ok()?;
    let counter = messages.clone();
    let heard = move |_,
                      kind: DebugUtilsMessageType,
                      data: vulkano::instance::debug::DebugUtilsMessengerCallbackData<'_>| {
        let old = data.message.contains("unknown VkStructureType")
            || data.message.contains("not supported by this layer");
        if kind.intersects(DebugUtilsMessageType::VALIDATION) && !old {
            counter.fetch_add(1, Relaxed);
            eprintln!("{}", data.message);
        }
    };
    let listen = || {
        // SAFETY: the closure counts and prints; it makes no Vulkan call.
        let callback = unsafe { DebugUtilsMessengerCallback::new(heard) };
        let info = DebugUtilsMessengerCreateInfo {
            message_severity: DebugUtilsMessageSeverity::ERROR | DebugUtilsMessageSeverity::WARNING,
            message_type: DebugUtilsMessageType::VALIDATION,
            ..DebugUtilsMessengerCreateInfo::user_callback(callback)
        };
        DebugUtilsMessenger::new(instance.clone(), info).ok()
    };
    let messenger = if has_layer { listen() } else { None };
    Some((instance, messenger, messages))
}

impl Own {
    /// A device with four queues that hand on their work whenever they like, without the validation layers: order comes from waits alone.
    pub fn overtaking() -> Option<Own> {
        let own = super::mock::device_with(super::mock::queues::QUEUES);
        let Some((device, queues)) = own else {
            assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device");
            return None;
        };
        Some(Own { device, queues, messages: Arc::default(), _messenger: None })
    }

    /// Opens a device that can fuse. Without one the test is skipped, or fails where one is required.
    pub fn open() -> Option<Own> {
        let own = Own::try_open();
        if own.is_none() {
            assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device");
            let _ = writeln!(std::io::stderr(), "SKIPPED: no device");
        }
        own
    }

    fn try_open() -> Option<Own> {
        let (instance, _messenger, messages) = instance()?;
        let required = Context::required_features();
        let (physical, family, count) = instance
            .enumerate_physical_devices()
            .ok()?
            .filter(|physical| physical.supported_features().contains(&required))
            .filter_map(|physical| {
                let families = physical.queue_family_properties();
                let at = families.iter().position(|f| f.queue_flags.contains(QueueFlags::COMPUTE))?;
                Some((physical.clone(), at as u32, families[at].queue_count.min(4)))
            })
            // A card before a driver that computes on the processor.
            .min_by_key(|(physical, ..)| {
                physical.properties().device_type != PhysicalDeviceType::DiscreteGpu
            })?;
        let features = DeviceFeatures {
            buffer_device_address: physical.supported_features().buffer_device_address,
            ..required
        };
        let queues = QueueCreateInfo {
            queue_family_index: family,
            queues: vec![0.5; count as usize],
            ..QueueCreateInfo::default()
        };
        let info = DeviceCreateInfo {
            queue_create_infos: vec![queues],
            enabled_features: features,
            ..DeviceCreateInfo::default()
        };
        let (device, queues) = Device::new(physical, info).ok()?;
        Some(Own { device, queues: queues.collect(), messages, _messenger })
    }

    /// A context over the device, without a cache on disk.
    pub fn context(&self) -> Context {
        self.context_with(CacheOptions::default().no_disk())
    }

    /// A context over the device.
    pub fn context_with(&self, cache: CacheOptions) -> Context {
        let options = ContextOptions::new().cache(cache);
        Context::over(self.device.clone(), self.queues.clone(), options).expect("a context")
    }

    fn usage(&self) -> BufferUsage {
        let usage = BufferUsage::STORAGE_BUFFER | BufferUsage::TRANSFER_SRC | BufferUsage::TRANSFER_DST;
        if self.device.enabled_features().buffer_device_address {
            usage | BufferUsage::SHADER_DEVICE_ADDRESS
        } else {
            usage
        }
    }

    fn raw(&self, bytes: u64) -> RawBuffer {
        self.raw_for(bytes, BufferUsage::empty())
    }

    fn raw_for(&self, bytes: u64, more: BufferUsage) -> RawBuffer {
        let usage = self.usage() | more;
        let info = BufferCreateInfo { size: bytes, usage, ..BufferCreateInfo::default() };
        RawBuffer::new(self.device.clone(), info).expect("a buffer without memory")
    }

    /// Device memory that the host could see; mapped, so that the engine reaches it in place, or not.
    pub fn memory(&self, bytes: u64, mapped: bool) -> Arc<DeviceMemory> {
        let needs = *self.raw(bytes).memory_requirements();
        let wanted = MemoryPropertyFlags::HOST_VISIBLE | MemoryPropertyFlags::HOST_COHERENT;
        let types = &self.device.physical_device().memory_properties().memory_types;
        let fits = |index: &usize| {
            needs.memory_type_bits & (1 << index) != 0 && types[*index].property_flags.contains(wanted)
        };
        let index = (0..types.len()).find(fits).expect("memory that the host can see");
        let flags = if self.device.enabled_features().buffer_device_address {
            MemoryAllocateFlags::DEVICE_ADDRESS
        } else {
            MemoryAllocateFlags::empty()
        };
        let info = MemoryAllocateInfo {
            allocation_size: needs.layout.size(),
            memory_type_index: index as u32,
            flags,
            ..MemoryAllocateInfo::default()
        };
        let mut memory = DeviceMemory::allocate(self.device.clone(), info).expect("device memory");
        if mapped {
            let size = memory.allocation_size();
            memory.map(MemoryMapInfo { offset: 0, size, ..MemoryMapInfo::default() }).expect("a mapping");
        }
        Arc::new(memory)
    }

    /// A Vulkan buffer over a part of device memory; several may be over the same part.
    pub fn buffer_on(&self, memory: &Arc<DeviceMemory>, offset: u64, bytes: u64) -> Subbuffer<[u8]> {
        let raw = self.raw(bytes);
        let size = raw.memory_requirements().layout.size().min(memory.allocation_size() - offset);
        // SAFETY: the caller only uses the buffers through the engine, which keeps aliases in order.
        let part = unsafe { ResourceMemory::from_device_memory_unchecked(memory.clone(), offset, size) };
        let buffer = raw.bind_memory(part).map_err(|(error, ..)| error).expect("memory for the buffer");
        Subbuffer::new(Arc::new(buffer))
    }

    /// A Vulkan buffer with memory of its own.
    pub fn buffer(&self, bytes: u64, mapped: bool) -> Subbuffer<[u8]> {
        self.buffer_on(&self.memory(bytes, mapped), 0, bytes)
    }

    /// A Vulkan buffer with memory of its own, for other uses as well.
    pub fn buffer_for(&self, bytes: u64, more: BufferUsage) -> Subbuffer<[u8]> {
        let (raw, memory) = (self.raw_for(bytes, more), self.memory(bytes, true));
        let size = raw.memory_requirements().layout.size();
        assert!(size <= memory.allocation_size(), "other uses need no more memory here");
        // SAFETY: nothing else is over the memory.
        let part = unsafe { ResourceMemory::from_device_memory_unchecked(memory, 0, size) };
        let buffer = raw.bind_memory(part).map_err(|(error, ..)| error).expect("memory for the buffer");
        Subbuffer::new(Arc::new(buffer))
    }

    /// Ends the device, and says how many messages the validation layers had, those about its end included.
    pub fn close(self) -> u64 {
        let Own { device, queues, messages, _messenger } = self;
        drop((queues, device));
        messages.load(Relaxed)
    }

    /// How many messages the validation layers had.
    pub fn messages(&self) -> u64 {
        self.messages.load(Relaxed)
    }
}

/// Imports a byte range of a Vulkan buffer.
pub fn import<T: Pod>(context: &Context, buffer: &Subbuffer<[u8]>, bytes: Range<u64>) -> vkfuse::Buffer<T> {
    // SAFETY: the tests touch their buffers through the engine only, or between waits as the contract says.
    let vouched = unsafe { UserBuffer::new(buffer.clone().slice(bytes)) };
    context.import(&vouched).expect("an import")
}

/// Imports a byte range of a Vulkan buffer by its handle.
pub fn import_raw<T: Pod>(
    context: &Context,
    buffer: &Subbuffer<[u8]>,
    bytes: Range<u64>,
) -> vkfuse::Buffer<T> {
    use vulkano::VulkanObject as _;
    let raw = vkfuse::RawBuffer {
        buffer: buffer.buffer().handle(),
        usage: buffer.buffer().usage().into(),
        offset: bytes.start,
        size: bytes.end - bytes.start,
        memory: None,
    };
    // SAFETY: as above; the buffer is kept, and its handle is what it says.
    let vouched = unsafe { UserBuffer::from_raw(&raw) }.keeping(buffer.buffer().clone());
    context.import(&vouched).expect("an import")
}

/// Hands an image to the engine that is in no layout yet.
pub fn import_image(context: &Context, view: &Arc<vulkano::image::view::ImageView>) -> vkfuse::Image {
    // SAFETY: the test leaves the image alone from here on, and its device has one queue family.
    let image = unsafe { vkfuse::UserImage::new(view.clone()) };
    context.import_image(&image.without_contents()).expect("an import")
}
