//! What a device can do and how large things may be.
//!
//! Copied once when the device is opened, so that planning asks plain fields and never the driver.

use crate::jit::{
    self, BlockCoarseningLimits, FloatControls, ShapeLimits, TextureKind, ThreadCoarseningLimits,
    UnrollLimits,
};
use vulkano::{
    Version,
    device::{
        Device,
        physical::{DriverId, PhysicalDevice, PhysicalDeviceType},
    },
    memory::MemoryHeapFlags,
};

use super::{
    chain::Chain,
    features, float_controls, mesa,
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
    pub(super) fn rank(self) -> u8 {
        match self {
            DeviceKind::Discrete => 0,
            DeviceKind::Integrated => 1,
            DeviceKind::Virtual => 2,
            DeviceKind::Other => 3,
            DeviceKind::Cpu => 4,
        }
    }
}

impl DeviceLimits {
    fn of(device: &PhysicalDevice) -> DeviceLimits {
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
    pub(super) fn of(device: &PhysicalDevice, index: usize) -> DeviceInfo {
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
            missing: features::missing(device.supported_features()),
        }
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
    /// Whether it computes on the processor: then no one polls for completion, which would take its cores.
    pub(crate) is_cpu: bool,
    /// The driver is NVIDIA's own.
    is_nvidia: bool,
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
    /// Rounds after which the driver ends all loops of a shader together, where it is known to do so.
    pub(crate) max_loop_rounds: Option<u64>,
    /// What modules may ask of floats.
    pub(crate) float_controls: FloatControls,
    /// What is changed atomically beside integers of 32 bits.
    pub(crate) atomics: AtomicCaps,
    /// What modules may ask of it.
    pub(crate) requirements: Requirements,
    spirv_capabilities: Vec<u32>,
    /// Whether pipelines may ask for full sub-groups, and for their size.
    gives_full_subgroups: bool,
    /// Most sub-groups of a work-group whose pipeline asks for their size.
    pub(crate) max_subgroups: u32,
    /// Invocations of a sub-group that take the same way stay together.
    pub(crate) uniform_subgroups: bool,
    timestamp_bits: u32,
}

/// The capability `GroupNonUniform`.
const GROUP_NON_UNIFORM: u32 = 61;

/// The capability `GroupNonUniformShuffle`.
const GROUP_NON_UNIFORM_SHUFFLE: u32 = 65;

/// Work-groups that fill a large device several times over: with fewer, each does its own alone.
const WORK_GROUPS_LEFT: u32 = 2048;

/// Bytes of private variables of all work-groups side by side in one invocation. Measured on an H200 (`performance.md`): four
/// elements of each of four rows are faster than those of one, 16 of each of two are not.
pub(crate) const PRIVATE_BYTES: u32 = 64;

/// Bytes of private variables of all invocations of a work-group that one does. Measured (`performance.md`): one element of each of eight
/// invocations, and four, are faster than work-groups of 256, 16 are slower.
pub(crate) const NARROW_BYTES: u32 = 128;

/// Work-groups of one sub-group each that fill a large device about twice: a processor takes 32 at once. Measured (`performance.md`): 8,192 gain more than
/// they lose, 2,048 do not.
const NARROW_GROUPS_LEFT: u32 = 8192;

/// Bytes of shared memory of all work-groups side by side. Measured there: eight times 2 KiB and twice 6 are faster than once, four
/// times 6 slower than twice.
const SHARED_BYTES: u32 = 18 << 10;

impl Caps {
    /// Reads an open device. `timestamp_bits` is the least of its queues'.
    pub(super) fn of(
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
            is_nvidia: p.driver_id == Some(DriverId::NvidiaProprietary),
            timestamp_period: if timestamp_bits > 0 { f64::from(p.timestamp_period) } else { 0.0 },
            validation,
            device_addresses: device.enabled_features().buffer_device_address,
            robust: device.enabled_features().robust_buffer_access2,
            spirv_version: if version >= Version::V1_3 { (1, 6) } else { (1, 5) },
            driver_identity: driver_identity((device, newer), validation),
            max_loop_rounds: mesa::max_loop_rounds(p),
            float_controls: float_controls::of(p),
            atomics: spirv_caps::atomics(device),
            spirv_capabilities: requirements.capabilities(),
            requirements,
            gives_full_subgroups: gives_full_subgroups(device),
            max_subgroups: most_subgroups(device),
            uniform_subgroups: device.enabled_features().shader_subgroup_uniform_control_flow,
            timestamp_bits,
            info,
        }
    }

    /// The shape of dispatch the device likes best, where the choice is free.
    pub(crate) fn shape(&self) -> ShapeLimits {
        // On a processor a work-group is a loop, whatever its size. Four elements in one access are worth as much as
        // four in flight everywhere that was measured.
        let group_size = if self.is_cpu { 0 } else { 256 };
        // Where both sides of each branch are computed, code for single items costs as much as if it ran (`performance.md`).
        let rounds = if self.is_cpu { 4 } else { 1 };
        // There, too, items of superword code are done twice: along its path, and one after another.
        let superword = if self.is_cpu { 1 } else { 4 };
        ShapeLimits { group_size, items: 4, vectors: true, rounds, least: 64, superword, lanes: 32 }
    }

    /// How many work-groups of kernels with barriers are best done by one.
    pub(crate) fn interleave(&self) -> BlockCoarseningLimits {
        let work_groups = if self.is_cpu { 1 } else { 8 };
        BlockCoarseningLimits {
            work_groups,
            least: WORK_GROUPS_LEFT,
            private_bytes: PRIVATE_BYTES,
            shared_bytes: SHARED_BYTES,
        }
    }

    /// Whether work-groups of kernels with barriers are best done by one sub-group. Measured on NVIDIA's alone.
    pub(crate) fn narrow(&self) -> ThreadCoarseningLimits {
        let invocations = if self.is_nvidia { self.info.subgroup_size } else { 0 };
        ThreadCoarseningLimits {
            invocations,
            least: NARROW_GROUPS_LEFT,
            private_bytes: NARROW_BYTES,
            any_loops: false,
            ..ThreadCoarseningLimits::default()
        }
    }

    /// Which loops of fused kernels are unrolled. Measured on an H200 (`performance.md`): rows of 128 rounds of their work-group are
    /// faster in registers than in shared memory or memory.
    pub(crate) fn loops(&self) -> UnrollLimits {
        match self.is_cpu {
            true => UnrollLimits::default(),
            false => UnrollLimits { rounds: 128, at_once: 16, private_bytes: 512 },
        }
    }

    /// Whether the pipeline of work-groups of this many invocations may ask for sub-groups of the default size.
    pub(crate) fn has_room_for(&self, invocations: u32) -> bool {
        invocations.div_ceil(self.info.subgroup_size.max(1)) <= self.max_subgroups
    }

    /// See [`ThreadCoarseningLimits::subgroup`]. Measured on NVIDIA's alone (`docs/performance.md`); elsewhere it is what `shuffles` take.
    pub(crate) fn subgroup_left(&self, shuffles: bool) -> u32 {
        let can = self.gives_full_subgroups && self.supports(GROUP_NON_UNIFORM);
        if can && (self.is_nvidia || shuffles) { self.info.subgroup_size } else { 0 }
    }

    /// See [`ThreadCoarseningLimits::packed`]. Measured (`docs/performance.md`): four and eight are as good where shared memory is in registers, and slower than one
    /// where it is not.
    pub(crate) fn packed(&self, shuffles: bool) -> u32 {
        if self.is_nvidia && shuffles { 4 } else { 1 }
    }

    /// See [`ThreadCoarseningLimits::shuffles`]; `asked` says what to do instead of what was measured.
    pub(crate) fn shuffles(&self, asked: Option<bool>) -> bool {
        let has_them = self.supports(GROUP_NON_UNIFORM) && self.supports(GROUP_NON_UNIFORM_SHUFFLE);
        asked.unwrap_or(self.is_nvidia) && has_them
    }

    /// See [`Limits::late_stores`](crate::jit::Limits::late_stores). As many as rounds of a long loop stand one after another. On a processor nothing
    /// is in flight.
    pub(crate) fn late_stores(&self) -> u32 {
        if self.is_cpu { 0 } else { 16 }
    }

    /// See [`Limits::kept_result_bytes`](crate::jit::Limits::kept_result_bytes). What was just stored has to come from memory, and in order: as
    /// much is kept as a row may have in registers.
    pub(crate) fn kept_result_bytes(&self) -> u32 {
        if self.is_cpu { 0 } else { 512 }
    }

    /// See [`Limits::max_broadcast_bytes`](crate::jit::Limits::max_broadcast_bytes). A processor's memory is its cache.
    pub(crate) fn max_broadcast_bytes(&self) -> Option<u64> {
        (!self.is_cpu).then_some(16 << 20)
    }

    /// See [`Limits::overlapping_invocations`](crate::jit::Limits::overlapping_invocations). The largest GPUs hold some 270,000
    /// invocations at once. A processor runs one dispatch after the other.
    pub(crate) fn overlapping_invocations(&self) -> u64 {
        if self.is_cpu { 0 } else { 1 << 16 }
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
    pub(super) fn timestamp_mask(&self) -> u64 {
        1_u64.checked_shl(self.timestamp_bits).map_or(u64::MAX, |bit| bit - 1)
    }

    /// The limits.
    pub(crate) fn limits(&self) -> &DeviceLimits {
        &self.info.limits
    }
}

/// Whether pipelines of compute shaders may ask for full sub-groups of a size.
fn gives_full_subgroups(device: &Device) -> bool {
    let features = device.enabled_features();
    let stages = device.physical_device().properties().required_subgroup_size_stages;
    features.subgroup_size_control
        && features.compute_full_subgroups
        && stages.is_some_and(|stages| stages.intersects(vulkano::shader::ShaderStages::COMPUTE))
}

/// Most sub-groups of a work-group whose pipeline asks for their size. Who does not say it lets none ask.
fn most_subgroups(device: &Device) -> u32 {
    device.physical_device().properties().max_compute_workgroup_subgroups.unwrap_or(u32::MAX)
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
