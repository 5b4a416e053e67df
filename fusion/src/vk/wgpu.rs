//! A device of wgpu's with what a context needs, its buffers by their handles, and commands into a command buffer of its.

use std::{ffi::CStr, sync::Arc};

use ash::vk;
use wgpu::hal::{api::Vulkan, vulkan};

use super::{DeviceError, RawBuffer, RawCommandBuffer, RawDevice, RawHandles, Scope, UserBuffer};

/// What can go wrong between wgpu and this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WgpuError {
    /// The adapter, device, buffer or queue is not one of wgpu's Vulkan back end.
    #[error("the {what} is not one of wgpu's Vulkan back end")]
    NotVulkan {
        /// Which of them.
        what: &'static str,
    },
    /// wgpu clears whole words that no one wrote, and would clear the results in the rest of such a buffer.
    #[error("a buffer of {size} bytes, which is no multiple of 4")]
    Size {
        /// Its size.
        size: u64,
    },
    /// Vulkan could not make the device.
    #[error("vkCreateDevice failed: {0}")]
    Create(vk::Result),
    /// wgpu could not take the device.
    #[error("wgpu does not take the device: {0}")]
    Hal(#[from] wgpu::hal::DeviceError),
    /// wgpu could not take the device.
    #[error(transparent)]
    Request(#[from] wgpu::RequestDeviceError),
    /// Anything else.
    #[error(transparent)]
    Engine(#[from] crate::Error),
}

impl From<DeviceError> for WgpuError {
    fn from(error: DeviceError) -> Self {
        Self::Engine(error.into())
    }
}

/// A device of wgpu's that a context can be opened over, with the user's word for its threads.
#[derive(Debug)]
pub struct WgpuDevice {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) raw: RawDevice,
}

impl WgpuDevice {
    /// Makes a device on an adapter of wgpu's Vulkan back end, with what this crate needs besides what the descriptor asks for:
    /// `timelineSemaphore` and `synchronization2`, and a second queue where the family has several. All of wgpu works on it as ever.
    ///
    /// # Errors
    ///
    /// An adapter of another back end; features that the device lacks.
    ///
    /// # Safety
    ///
    /// The context uses the second queue. Where there is only one, as on many integrated devices, no other thread submits with wgpu while
    /// a call of this crate may submit: any submission, copy, transfer or wait, or the drop of a queue, list or context.
    pub unsafe fn request(
        adapter: &wgpu::Adapter,
        descriptor: &wgpu::DeviceDescriptor<'_>,
    ) -> Result<WgpuDevice, WgpuError> {
        // SAFETY: the caller's promise.
        unsafe { open(adapter, descriptor) }
    }
}

/// See [`WgpuDevice::request`].
///
/// # Safety
///
/// As there.
unsafe fn open(
    adapter: &wgpu::Adapter,
    descriptor: &wgpu::DeviceDescriptor<'_>,
) -> Result<WgpuDevice, WgpuError> {
    // SAFETY: the handles of the adapter are not destroyed here.
    let hal = unsafe { adapter.as_hal::<Vulkan>() }.ok_or(WgpuError::NotVulkan { what: "adapter" })?;
    let instance = hal.shared_instance();
    let physical_device = hal.raw_physical_device();
    let capabilities = hal.physical_device_capabilities();
    let mut extensions = hal.required_device_extensions(descriptor.required_features);
    let core = capabilities.properties().api_version;
    let wanted: [(&CStr, u32); 3] = [
        (ash::khr::push_descriptor::NAME, u32::MAX),
        (ash::khr::timeline_semaphore::NAME, vk::API_VERSION_1_2),
        (ash::khr::synchronization2::NAME, vk::API_VERSION_1_3),
    ];
    for (name, since) in wanted {
        if core < since && capabilities.supports_extension(name) && !extensions.contains(&name) {
            extensions.push(name);
        }
    }
    let mut features = hal.physical_device_features(&extensions, descriptor.required_features);
    // SAFETY: the physical device is of this instance.
    let families =
        unsafe { instance.raw_instance().get_physical_device_queue_family_properties(physical_device) };
    // wgpu's is the first of family 0. The second one is not touched by it.
    let count = families.first().map_or(1, |family| family.queue_count.clamp(1, 2));
    let priorities = [1.0; 2];
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(0)
        .queue_priorities(&priorities[..count as usize])];
    let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
    let mut info = features.add_to_device_create(info);
    let mut synchronization = vk::PhysicalDeviceSynchronization2Features::default().synchronization2(true);
    let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    info = info.push_next(&mut synchronization);
    // SAFETY: the chain was made just now, of structures that live here.
    if !unsafe { has(&info, vk::StructureType::PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES) } {
        info = info.push_next(&mut timeline);
    }
    // SAFETY: the info is valid: extensions and features are those that wgpu asks for, and others that the device has, or else
    // the call fails.
    let device = unsafe { instance.raw_instance().create_device(physical_device, &info, None) }
        .map_err(WgpuError::Create)?;
    let version = instance.instance_api_version();
    let handles = RawHandles {
        get_instance_proc_addr: instance.entry().static_fn().get_instance_proc_addr,
        // What wgpu asks for.
        api_version: if version < vk::API_VERSION_1_1 { vk::API_VERSION_1_0 } else { vk::API_VERSION_1_3 },
        instance: instance.raw_instance().handle(),
        physical_device,
        device: device.handle(),
        create_info: &info,
    };
    // SAFETY: these are handles of one another, and the device was made with this info. wgpu's device owns them, and is kept;
    // the queue is one that wgpu does not use, or no one uses it meanwhile (the caller's promise).
    let raw = unsafe { RawDevice::new(&handles) }.queue(0, count - 1);
    // SAFETY: the device was made from this adapter with its extensions and features, and from now on is wgpu's.
    let opened = unsafe {
        hal.device_from_raw(
            device,
            None,
            &extensions,
            descriptor.required_features,
            &descriptor.required_limits,
            &descriptor.memory_hints,
            0,
            0,
        )
    }?;
    drop(hal);
    // SAFETY: it was made from this adapter with what the descriptor asks for.
    let (device, queue) = unsafe { adapter.create_device_from_hal::<Vulkan>(opened, descriptor) }?;
    let raw = raw.keeping(Arc::new(device.clone()));
    Ok(WgpuDevice { device, queue, raw })
}

/// Whether a structure is in the chain.
///
/// # Safety
///
/// The chain can be followed.
unsafe fn has(info: &vk::DeviceCreateInfo<'_>, which: vk::StructureType) -> bool {
    let mut node = info.p_next.cast::<vk::BaseInStructure<'_>>();
    // SAFETY: the caller's promise.
    while let Some(found) = unsafe { node.as_ref() } {
        if found.s_type == which {
            return true;
        }
        node = found.p_next;
    }
    false
}

/// A buffer of wgpu's, with the user's word for the order of what uses it.
#[derive(Debug, Clone)]
pub struct WgpuBuffer {
    pub(crate) buffer: wgpu::Buffer,
    pub(crate) user: UserBuffer,
}

impl WgpuBuffer {
    /// Vouches for a buffer. It is kept as long as it is used.
    ///
    /// # Errors
    ///
    /// A buffer of another back end, or of a size that is no multiple of 4.
    ///
    /// # Safety
    ///
    /// The buffer is of the device that it is imported into, and is not mapped while this crate uses it. Command buffers of wgpu's, those that lists were [recorded](crate::wgpu::Device::record) into among them, are ordered by their
    /// submission. All else that this crate does with the buffer (uploads, downloads, lists that it submits itself) and what wgpu
    /// does with it is ordered by the program, by waiting for the one before the other: `wgpu::Device::poll`, and the events of this
    /// crate.
    pub unsafe fn new(buffer: &wgpu::Buffer) -> Result<WgpuBuffer, WgpuError> {
        // SAFETY: the handle is not destroyed here.
        let hal = unsafe { buffer.as_hal::<Vulkan>() }.ok_or(WgpuError::NotVulkan { what: "buffer" })?;
        let size = buffer.size();
        if !size.is_multiple_of(4) {
            return Err(WgpuError::Size { size });
        }
        let said = buffer.usage();
        let usages = [
            (wgpu::BufferUsages::STORAGE, vk::BufferUsageFlags::STORAGE_BUFFER),
            (wgpu::BufferUsages::UNIFORM, vk::BufferUsageFlags::UNIFORM_BUFFER),
            (wgpu::BufferUsages::COPY_SRC, vk::BufferUsageFlags::TRANSFER_SRC),
            (wgpu::BufferUsages::COPY_DST, vk::BufferUsageFlags::TRANSFER_DST),
        ];
        let usages = usages.into_iter().filter(|(its, _)| said.contains(*its));
        let raw = RawBuffer {
            // SAFETY: the same.
            buffer: unsafe { hal.raw_handle() },
            usage: usages.fold(vk::BufferUsageFlags::empty(), |all, (_, one)| all | one),
            offset: 0,
            size,
            memory: None,
        };
        // SAFETY: the buffer is kept; the rest is the caller's promise.
        let user = unsafe { UserBuffer::from_raw(&raw) }.keeping(Arc::new(buffer.clone()));
        Ok(WgpuBuffer { buffer: buffer.clone(), user })
    }
}

/// Has `record` write into the command buffer of an encoder in which nothing else is recorded, between full barriers. What it returns is
/// kept, as `kept` is, until the command buffer is complete or will never be submitted; the next submission of the queue waits for
/// its semaphores, which are of what is kept.
pub(crate) fn record<R: Send + Sync + 'static>(
    (encoder, queue): (&mut wgpu::CommandEncoder, &wgpu::Queue),
    kept: impl Send + 'static,
    semaphores: impl FnOnce(&R) -> &[(vk::Semaphore, u64)],
    record: impl FnOnce(&RawCommandBuffer) -> Result<R, crate::Error>,
) -> Result<Arc<R>, WgpuError> {
    // SAFETY: the handle is not destroyed here.
    let to = unsafe { queue.as_hal::<Vulkan>() }.ok_or(WgpuError::NotVulkan { what: "queue" })?;
    // SAFETY: the command buffer is neither ended nor destroyed, and the encoder is not used meanwhile. What is recorded is kept below.
    let recorded = unsafe {
        encoder.as_hal_mut::<Vulkan, _, _>(|encoder: Option<&mut vulkan::CommandEncoder>| {
            let encoder = encoder.ok_or(WgpuError::NotVulkan { what: "device" })?;
            let commands = RawCommandBuffer::recording(encoder.raw_handle());
            record(&commands.after(Scope::ALL).before(Scope::ALL)).map_err(WgpuError::from)
        })
    }?;
    let recorded = Arc::new(recorded);
    for &(semaphore, value) in semaphores(&recorded) {
        to.add_wait_semaphore(semaphore, Some(value), vk::PipelineStageFlags::ALL_COMMANDS);
    }
    let all = (recorded.clone(), kept);
    encoder.on_submitted_work_done(move || drop(all));
    Ok(recorded)
}
