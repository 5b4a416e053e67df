//! Makes a device with everything in use here switched on.
//!
//! vulkano's own way knows no features that are newer than it is, so the call is made here, and the handle becomes its object.

use std::{collections::BTreeSet, ffi::CString, ptr, sync::Arc};

use ash::vk;
use vulkano::{
    VulkanObject,
    device::{
        Device, DeviceCreateInfo, DeviceExtensions, Queue, QueueCreateInfo, QueueFlags,
        physical::PhysicalDevice,
    },
};

use crate::vk::{DeviceError, chain::Chain, features, gpu::check_version, newer::NewerFeatures};

/// How many queues are made where the caller does not say.
const DEFAULT_QUEUES: usize = 4;

/// A device that was made.
pub(in crate::vk) struct Made {
    pub(in crate::vk) device: Arc<Device>,
    pub(in crate::vk) queues: Vec<Arc<Queue>>,
    /// What it was made with that vulkano does not know.
    pub(in crate::vk) newer: NewerFeatures,
}

/// Makes a device, and queues of the family that suits compute best: one that does no graphics, because its submissions cost less.
/// At most
/// `max_queues` of them. `robust` switches `robustBufferAccess2` on.
pub(in crate::vk) fn device(
    physical: Arc<PhysicalDevice>,
    max_queues: Option<usize>,
    robust: bool,
) -> Result<Made, DeviceError> {
    check_version(&physical)?;
    let name = physical.properties().device_name.clone();
    if let Some(feature) = features::missing(physical.supported_features()).first() {
        return Err(DeviceError::MissingFeature { device: name, feature });
    }
    let families = physical.queue_family_properties();
    let family = (0..families.len())
        .filter(|f| families[*f].queue_flags.intersects(QueueFlags::COMPUTE))
        .min_by_key(|f| families[*f].queue_flags.intersects(QueueFlags::GRAPHICS))
        .ok_or_else(|| DeviceError::NoComputeQueue { device: name.clone() })?;
    let wanted = max_queues.unwrap_or(DEFAULT_QUEUES);
    // Vulkan makes no device without a queue; one that is not asked for has no handle here.
    let count = wanted.min(families[family].queue_count as usize).max(1);
    let priorities = vec![0.5; count];

    let has_robust = physical.supported_features().robust_buffer_access2
        && physical.supported_extensions().ext_robustness2;
    if robust && !has_robust {
        return Err(DeviceError::MissingFeature { device: name, feature: "robust_buffer_access2" });
    }
    let extensions = features::extensions(&physical, robust);
    let mut chain = Chain::supported(&physical, &extensions);
    chain.keep(&features::wanted(robust));
    let (enabled_features, newer) = chain.features();
    let known = extensions.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name);
    let names: BTreeSet<&str> = known.chain(chain.newer().iter().copied()).collect();
    let enabled_extensions: DeviceExtensions = names.iter().copied().collect();
    let owned: Vec<CString> = names.iter().filter_map(|name| CString::new(*name).ok()).collect();
    let names: Vec<_> = owned.iter().map(|name| name.as_ptr()).collect();

    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(family as u32)
        .queue_priorities(&priorities)];
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
    let info = chain.put_into(info);
    let mut handle = vk::Device::null();
    let fns = &physical.instance().fns().v1_0;
    // SAFETY: the physical device is of this instance; `info` and all that it points to outlive the call, and names extensions and
    // features that the device said it has.
    let result = unsafe { (fns.create_device)(physical.handle(), &info, ptr::null(), &mut handle) };
    if result != vk::Result::SUCCESS {
        return Err(DeviceError::raw("vkCreateDevice", result));
    }
    let info = DeviceCreateInfo {
        queue_create_infos: vec![QueueCreateInfo {
            queue_family_index: family as u32,
            queues: priorities.clone(),
            ..QueueCreateInfo::default()
        }],
        enabled_features,
        enabled_extensions,
        ..DeviceCreateInfo::default()
    };
    // SAFETY: the handle was made just now of this physical device, with what the create info has as far as vulkano knows of it, and
    // has no other owner.
    let (device, queues) = unsafe { Device::from_handle(physical, handle, info) };
    Ok(Made { device, queues: queues.take(wanted).collect(), newer })
}
