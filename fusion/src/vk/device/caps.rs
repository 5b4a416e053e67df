//! What a device can do and how large things may be.
//!
//! Copied once when the device is opened, so that planning asks plain fields and never the driver.

use crate::jit::{self, TextureKind};
use vulkano::{
    Version,
    device::{
        Device,
        physical::{PhysicalDevice, PhysicalDeviceType},
    },
    memory::MemoryHeapFlags,
};

use crate::vk::{
    DeviceError,
    chain::Chain,
    device_profile::DeviceProfile,
    features,
    newer::NewerFeatures,
    requirements::Requirements,
    spirv_caps::{self, AtomicCaps, Has},
};

/// What sort of device it is, as the driver says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A card of its own.
    Discrete,
    /// A part of the processor.
    Integrated,
    /// A share of a card, in a virtual machine.
    Virtual,
    /// A driver that computes on the processor, as lavapipe does.
    Cpu,
    /// None of these.
    Other,
}

/// The limits that planning and checking need, by the Vulkan limit of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceLimits {
    /// `maxPushConstantsSize`, bytes.
    pub max_push_bytes: u32,
    /// `maxComputeSharedMemorySize`, bytes.
    pub max_shared_bytes: u32,
    /// `maxComputeWorkGroupSize`, per dimension.
    pub max_work_group_size: [u32; 3],
    /// `maxComputeWorkGroupInvocations`.
    pub max_work_group_invocations: u32,
    /// `maxComputeWorkGroupCount`, per dimension.
    pub max_groups: [u32; 3],
    /// `maxStorageBufferRange`, bytes one storage binding can span.
    pub max_storage_range: u64,
    /// `maxUniformBufferRange`, bytes one uniform binding can span.
    pub max_uniform_range: u64,
    /// `maxPerStageDescriptorStorageBuffers`.
    pub max_storage_bindings: u32,
    /// `maxPerStageDescriptorUniformBuffers`.
    pub max_uniform_bindings: u32,
    /// The least of `maxPerStageDescriptorStorageImages`, `maxPerStageDescriptorSampledImages`, `maxPerStageDescriptorSamplers`, and
    /// of what sets have of each.
    pub max_images: u32,
    /// `maxPerStageDescriptorStorageImages`, storage texel buffers among them, or what a set has.
    pub max_storage_images: u32,
    /// `maxPerStageDescriptorSampledImages`, combined ones and uniform texel buffers among them, or what a set has.
    pub max_sampled_images: u32,
    /// `maxPerStageDescriptorSamplers`, combined ones among them, or what a set has.
    pub max_samplers: u32,
    /// `maxPerStageResources`: bindings of any kind together.
    pub max_bindings: u32,
    /// `maxBoundDescriptorSets`.
    pub max_sets: u32,
    /// `maxBufferSize` (or `maxMemoryAllocationSize` where smaller), bytes of one memory object.
    pub max_memory_object: u64,
    /// `minStorageBufferOffsetAlignment`, bytes.
    pub storage_offset_align: u64,
    /// `minUniformBufferOffsetAlignment`, bytes.
    pub uniform_offset_align: u64,
}

/// A device as listed, before it is opened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its number among the devices of this machine, in the loader's order.
    pub index: usize,
    /// The device's name.
    pub name: String,
    /// The driver's name.
    pub driver: String,
    /// The driver's own description of its version.
    pub driver_info: String,
    /// The driver's version number; its layout is the vendor's own.
    pub driver_version: u32,
    /// Vulkan version the device implements: major, minor, patch.
    pub api_version: (u32, u32, u32),
    /// PCI vendor number.
    pub vendor_id: u32,
    /// PCI device number.
    pub device_id: u32,
    /// What sort of device it is.
    pub kind: DeviceKind,
    /// Its limits.
    pub limits: DeviceLimits,
    /// Smallest and largest sub-group size.
    pub subgroup_sizes: (u32, u32),
    /// The default sub-group size.
    pub subgroup_size: u32,
    /// Bytes of device-local memory.
    pub device_memory: u64,
    /// What the planner would go by, with everything switched on that the device has.
    pub profile: DeviceProfile,
    /// Whether kernels can be run and fused on it: the names of the features it lacks, if any.
    pub missing: Vec<&'static str>,
}

impl DeviceKind {
    fn of(kind: PhysicalDeviceType) -> DeviceKind {
        match kind {
            PhysicalDeviceType::DiscreteGpu => DeviceKind::Discrete,
            PhysicalDeviceType::IntegratedGpu => DeviceKind::Integrated,
            PhysicalDeviceType::VirtualGpu => DeviceKind::Virtual,
            PhysicalDeviceType::Cpu => DeviceKind::Cpu,
            _ => DeviceKind::Other,
        }
    }

    /// Smaller is tried first where the user names no device.
    pub(in crate::vk) fn rank(self) -> u8 {
        match self {
            DeviceKind::Discrete => 0,
            DeviceKind::Integrated => 1,
            DeviceKind::Virtual => 2,
            DeviceKind::Other => 3,
            DeviceKind::Cpu => 4,
        }
    }
}

impl Default for DeviceLimits {
    /// The least every Vulkan 1.3 device has.
    fn default() -> DeviceLimits {
        DeviceLimits {
            max_push_bytes: 128,
            max_shared_bytes: 16 << 10,
            max_work_group_size: [128, 128, 64],
            max_work_group_invocations: 128,
            max_groups: [65_535; 3],
            max_storage_range: 1 << 27,
            max_uniform_range: 1 << 14,
            max_storage_bindings: 4,
            max_uniform_bindings: 12,
            max_images: 4,
            max_storage_images: 4,
            max_sampled_images: 16,
            max_samplers: 16,
            max_bindings: 128,
            max_sets: 4,
            max_memory_object: 1 << 30,
            storage_offset_align: 256,
            uniform_offset_align: 256,
        }
    }
}

impl DeviceLimits {
    pub(in crate::vk) fn of(device: &PhysicalDevice) -> DeviceLimits {
        let p = device.properties();
        let allocation = p.max_memory_allocation_size.unwrap_or(1 << 30);
        DeviceLimits {
            max_push_bytes: p.max_push_constants_size,
            max_shared_bytes: p.max_compute_shared_memory_size,
            max_work_group_size: p.max_compute_work_group_size,
            max_work_group_invocations: p.max_compute_work_group_invocations,
            max_groups: p.max_compute_work_group_count,
            max_storage_range: p.max_storage_buffer_range.into(),
            max_uniform_range: p.max_uniform_buffer_range.into(),
            max_storage_bindings: p
                .max_per_stage_descriptor_storage_buffers
                .min(p.max_descriptor_set_storage_buffers),
            max_uniform_bindings: p
                .max_per_stage_descriptor_uniform_buffers
                .min(p.max_descriptor_set_uniform_buffers),
            max_images: [
                p.max_per_stage_descriptor_storage_images,
                p.max_descriptor_set_storage_images,
                p.max_per_stage_descriptor_sampled_images,
                p.max_descriptor_set_sampled_images,
                p.max_per_stage_descriptor_samplers,
                p.max_descriptor_set_samplers,
            ]
            .into_iter()
            .fold(u32::MAX, u32::min),
            max_storage_images: p
                .max_per_stage_descriptor_storage_images
                .min(p.max_descriptor_set_storage_images),
            max_sampled_images: p
                .max_per_stage_descriptor_sampled_images
                .min(p.max_descriptor_set_sampled_images),
            max_samplers: p.max_per_stage_descriptor_samplers.min(p.max_descriptor_set_samplers),
            max_bindings: p.max_per_stage_resources,
            max_sets: p.max_bound_descriptor_sets,
            max_memory_object: p.max_buffer_size.unwrap_or(allocation).min(allocation),
            storage_offset_align: p.min_storage_buffer_offset_alignment.as_devicesize(),
            uniform_offset_align: p.min_uniform_buffer_offset_alignment.as_devicesize(),
        }
    }
}

impl DeviceInfo {
    /// Describes a device; `index` is its number in the loader's list.
    pub(in crate::vk) fn of(device: &PhysicalDevice, index: usize) -> DeviceInfo {
        let p = device.properties();
        let version = device.api_version();
        let subgroup_size = p.subgroup_size.unwrap_or(1);
        let local =
            |heap: &&vulkano::memory::MemoryHeap| heap.flags.intersects(MemoryHeapFlags::DEVICE_LOCAL);
        DeviceInfo {
            index,
            name: p.device_name.clone(),
            driver: p.driver_name.clone().unwrap_or_default(),
            driver_info: p.driver_info.clone().unwrap_or_default(),
            driver_version: p.driver_version,
            api_version: (version.major, version.minor, version.patch),
            vendor_id: p.vendor_id,
            device_id: p.device_id,
            kind: DeviceKind::of(p.device_type),
            limits: DeviceLimits::of(device),
            subgroup_sizes: (
                p.min_subgroup_size.unwrap_or(subgroup_size),
                p.max_subgroup_size.unwrap_or(subgroup_size),
            ),
            subgroup_size,
            device_memory: device.memory_properties().memory_heaps.iter().filter(local).map(|h| h.size).sum(),
            profile: DeviceProfile {
                robust: false,
                ..DeviceProfile::of(device, device.supported_features())
            },
            missing: features::missing(device.supported_features()),
        }
    }

    /// Whether there is a driver and no hardware, so that it compiles only.
    #[must_use]
    pub fn is_null_hardware(&self) -> bool {
        // By its name: RADV says so of families that it is asked to compile for.
        self.driver == "radv" && self.name.starts_with("Null hardware")
    }

    /// Whether this crate can open the device, and so fuse on it.
    #[must_use]
    pub fn supports_fusion(&self) -> bool {
        self.missing.is_empty()
    }
}

/// What an open device can do.
#[derive(Debug, Clone)]
pub(crate) struct Caps {
    /// The device as listed.
    pub(crate) info: DeviceInfo,
    /// What the planner goes by.
    pub(crate) profile: DeviceProfile,
    /// Whether it computes on the processor: then no one polls for completion, which would take its cores.
    pub(crate) is_cpu: bool,
    /// Why nothing runs there, if that is so.
    pub(crate) compile_only: Option<&'static str>,
    /// Nanoseconds of one timestamp tick; 0 where the queues have no timestamps.
    pub(crate) timestamp_period: f64,
    /// Whether the validation layer is active.
    pub(crate) validation: bool,
    /// Whether buffers have addresses that kernels may follow.
    pub(crate) device_addresses: bool,
    /// `robustBufferAccess2` is on: accesses outside of a range are defined.
    pub(crate) robust: bool,
    /// Newest SPIR-V version that modules may have.
    pub(crate) spirv_version: (u8, u8),
    /// What tells driver and device apart, down to the driver's build, for the key of driver blobs: names and bytes.
    pub(crate) driver_identity: Vec<(&'static str, Vec<u8>)>,
    /// What is changed atomically beside integers of 32 bits.
    pub(crate) atomics: AtomicCaps,
    /// What modules may ask of it.
    pub(crate) requirements: Requirements,
    spirv_capabilities: Vec<u32>,
    timestamp_bits: u32,
}

impl Caps {
    /// Reads an open device. `timestamp_bits` is the least of its queues'.
    pub(in crate::vk) fn of(
        (device, newer): (&Device, &NewerFeatures),
        index: usize,
        timestamp_bits: u32,
        validation: bool,
    ) -> Caps {
        let physical = device.physical_device();
        let p = physical.properties();
        let info = DeviceInfo::of(physical, index);
        let version = device.api_version();
        let on = Has {
            features: device.enabled_features(),
            newer,
            extensions: device.enabled_extensions(),
            properties: p,
            version,
        };
        let (_, all_newer) = Chain::supported(physical, physical.supported_extensions()).features();
        let had = Has {
            features: physical.supported_features(),
            newer: &all_newer,
            extensions: physical.supported_extensions(),
            ..on
        };
        let requirements = Requirements::of(&on, &had);
        Caps {
            is_cpu: info.kind == DeviceKind::Cpu,
            compile_only: None,
            timestamp_period: if timestamp_bits > 0 { f64::from(p.timestamp_period) } else { 0.0 },
            validation,
            device_addresses: device.enabled_features().buffer_device_address,
            robust: device.enabled_features().robust_buffer_access2,
            spirv_version: if version >= Version::V1_3 { (1, 6) } else { (1, 5) },
            driver_identity: driver_identity((device, newer), validation),
            atomics: spirv_caps::atomics(device),
            spirv_capabilities: requirements.capabilities(),
            requirements,
            timestamp_bits,
            profile: DeviceProfile::of(physical, device.enabled_features()),
            info,
        }
    }

    /// An error where the device compiles only.
    pub(crate) fn runs(&self) -> Result<(), DeviceError> {
        match self.compile_only {
            Some(why) => Err(DeviceError::CompileOnly { device: self.info.name.clone(), why }),
            None => Ok(()),
        }
    }

    /// Whether the pipeline of work-groups of this many invocations may ask for sub-groups of the default size.
    pub(crate) fn has_room_for(&self, invocations: u32) -> bool {
        invocations.div_ceil(self.info.subgroup_size.max(1)) <= self.profile.max_subgroups
    }

    /// Whether modules with this SPIR-V capability (by its number) may be handed to the device as it was opened.
    pub(crate) fn supports(&self, capability: u32) -> bool {
        self.spirv_capabilities.binary_search(&capability).is_ok()
    }

    /// Whether elements of arrays of such descriptors may be chosen by numbers that are no constants; the feature if not.
    pub(crate) fn indexes_dynamically(&self, kind: jit::BindingKind) -> Result<(), &'static str> {
        // By the number of the capability that the feature is for.
        let (capability, feature) = match (kind, kind.texture()) {
            (jit::BindingKind::UniformBuffer, _) => (28, "shaderUniformBufferArrayDynamicIndexing"),
            (_, None) => (30, "shaderStorageBufferArrayDynamicIndexing"),
            (_, Some(TextureKind::StorageImage)) => (31, "shaderStorageImageArrayDynamicIndexing"),
            (_, Some(TextureKind::UniformTexels)) => (5304, "shaderUniformTexelBufferArrayDynamicIndexing"),
            (_, Some(TextureKind::StorageTexels)) => (5305, "shaderStorageTexelBufferArrayDynamicIndexing"),
            (_, Some(TextureKind::SampledImage | TextureKind::CombinedSampler | TextureKind::Sampler)) => {
                (29, "shaderSampledImageArrayDynamicIndexing")
            }
        };
        if self.supports(capability) { Ok(()) } else { Err(feature) }
    }

    /// Which bits of a timestamp count.
    pub(in crate::vk) fn timestamp_mask(&self) -> u64 {
        1_u64.checked_shl(self.timestamp_bits).map_or(u64::MAX, |bit| bit - 1)
    }

    /// The limits.
    pub(crate) fn limits(&self) -> &DeviceLimits {
        &self.info.limits
    }
}

/// What a driver's pipeline blob depends on beside the SPIR-V: everything Vulkan offers to tell two drivers apart, and
/// how the device was opened. Two devices of one model under one driver are alike, so `deviceUUID`, which tells them
/// apart, is left out; `pipelineCacheUUID` is what Vulkan has for this.
fn driver_identity(
    (device, newer): (&Device, &NewerFeatures),
    validation: bool,
) -> Vec<(&'static str, Vec<u8>)> {
    let p = device.physical_device().properties();
    let version = device.api_version();
    let number = |number: u32| number.to_le_bytes().to_vec();
    let text = |text: Option<&str>| text.unwrap_or_default().as_bytes().to_vec();
    let driver = p.driver_id.map_or(0, |id| ash::vk::DriverId::from(id).as_raw());
    vec![
        ("vendorID", number(p.vendor_id)),
        ("deviceID", number(p.device_id)),
        ("driverVersion", number(p.driver_version)),
        ("driverID", driver.to_le_bytes().to_vec()),
        ("driverName", text(p.driver_name.as_deref())),
        ("driverInfo", text(p.driver_info.as_deref())),
        ("deviceName", text(Some(&p.device_name))),
        ("pipelineCacheUUID", p.pipeline_cache_uuid.to_vec()),
        ("driverUUID", p.driver_uuid.unwrap_or_default().to_vec()),
        ("apiVersion", [version.major, version.minor, version.patch].map(u32::to_le_bytes).concat()),
        ("pointer bits", number(usize::BITS)),
        ("features", format!("{:?}", device.enabled_features()).into_bytes()),
        ("newer features", format!("{newer:?}").into_bytes()),
        ("extensions", format!("{:?}", device.enabled_extensions()).into_bytes()),
        ("validation layer", vec![u8::from(validation)]),
    ]
}
