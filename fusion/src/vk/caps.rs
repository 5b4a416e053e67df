//! What a device can do and how large things may be.
//!
//! Copied once when the device is opened, so that planning asks plain fields and never the driver.

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

impl DeviceInfo {
    /// Whether this crate can open the device, and so fuse on it.
    #[must_use]
    pub fn supports_fusion(&self) -> bool {
        self.missing.is_empty()
    }
}

/// What an open device can do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Caps {
    /// The device as listed.
    pub info: DeviceInfo,
    /// Whether it computes on the processor: then nobody polls for completion, which would take its cores.
    pub is_cpu: bool,
    /// Nanoseconds of one timestamp tick; 0 where the queues have no timestamps.
    pub timestamp_period: f64,
    /// Whether the validation layer is active.
    pub validation: bool,
    /// Whether buffers have addresses that kernels may follow.
    pub device_addresses: bool,
    /// Newest SPIR-V version that modules may have.
    pub spirv_version: (u8, u8),
    /// Bytes that identify the device and what is switched on in it, for the key of what depends on the device.
    pub device_identity: Vec<u8>,
    /// Bytes that identify device and driver, down to its build, for the key of driver blobs.
    pub driver_identity: Vec<u8>,
    pub(super) spirv_capabilities: Vec<u32>,
}

impl Caps {
    /// Whether modules with this SPIR-V capability (by its number) may be handed to the device as it was opened.
    #[must_use]
    pub fn supports(&self, capability: u32) -> bool {
        self.spirv_capabilities.binary_search(&capability).is_ok()
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &DeviceLimits {
        &self.info.limits
    }
}
