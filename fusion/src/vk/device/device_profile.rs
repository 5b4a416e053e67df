//! What the planner goes by of a device, as data: read from one, or from a file about one that is elsewhere.

use vulkano::{
    device::{
        DeviceFeatures,
        physical::{DriverId, PhysicalDevice, PhysicalDeviceType, SubgroupFeatures},
    },
    shader::ShaderStages,
};

use crate::jit::FloatControls;
use crate::vk::{DeviceLimits, float_controls, vendor::Vendor};

/// What the planner goes by of a device. [`DeviceProfile::default`] is the least that Vulkan 1.3 has.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeviceProfile {
    /// `VkDriverId`, by its number; 0 if it is not known.
    pub driver_id: u32,
    /// `driverInfo`: the driver's version, in its own words.
    pub driver_info: String,
    /// Whether it computes on the processor.
    pub is_cpu: bool,
    /// Its limits.
    pub limits: DeviceLimits,
    /// `subgroupSize`.
    pub subgroup_size: u32,
    /// `minSubgroupSize`.
    pub least_subgroup: u32,
    /// `VK_SUBGROUP_FEATURE_BASIC_BIT` in compute shaders.
    pub subgroup_basic: bool,
    /// `VK_SUBGROUP_FEATURE_SHUFFLE_BIT` in compute shaders.
    pub subgroup_shuffle: bool,
    /// `computeFullSubgroups`, with sizes that compute shaders may ask for.
    pub full_subgroups: bool,
    /// `maxComputeWorkgroupSubgroups`.
    pub max_subgroups: u32,
    /// `shaderSubgroupUniformControlFlow`.
    pub uniform_subgroups: bool,
    /// `shaderInt8`, `shaderInt16`, `shaderFloat16`.
    pub small_scalars: [bool; 3],
    /// Whether robust buffer access is on.
    pub robust: bool,
    /// What modules may ask of floats.
    pub(crate) float_controls: FloatControls,
}

impl Default for DeviceProfile {
    fn default() -> DeviceProfile {
        DeviceProfile {
            driver_id: 0,
            driver_info: String::new(),
            is_cpu: false,
            limits: DeviceLimits::default(),
            subgroup_size: 1,
            least_subgroup: 0,
            subgroup_basic: false,
            subgroup_shuffle: false,
            full_subgroups: false,
            max_subgroups: u32::MAX,
            uniform_subgroups: false,
            small_scalars: [false; 3],
            robust: false,
            float_controls: FloatControls::default(),
        }
    }
}

impl DeviceProfile {
    /// Apple silicon through MoltenVK, as far as its translation to Metal can say everything: no sub-group operations, which Metal has for
    /// sizes that it chooses, no modes of floats.
    #[must_use]
    pub fn apple() -> DeviceProfile {
        DeviceProfile {
            driver_id: ash::vk::DriverId::MOLTENVK.as_raw() as u32,
            limits: DeviceLimits {
                max_push_bytes: 4096,
                max_shared_bytes: 32 << 10,
                max_work_group_size: [1024; 3],
                max_work_group_invocations: 1024,
                max_groups: [u32::MAX; 3],
                // Buffers of a function have 31 places, and push constants and sizes of arrays take some.
                max_storage_bindings: 24,
                max_uniform_bindings: 24,
                max_bindings: 24,
                max_images: 8,
                max_storage_images: 8,
                storage_offset_align: 16,
                uniform_offset_align: 16,
                ..DeviceLimits::default()
            },
            subgroup_size: 32,
            least_subgroup: 4,
            small_scalars: [true; 3],
            ..DeviceProfile::default()
        }
    }

    /// Reads a device that has these features on.
    pub(in crate::vk) fn of(physical: &PhysicalDevice, features: &DeviceFeatures) -> DeviceProfile {
        let p = physical.properties();
        let in_compute =
            |stages: Option<ShaderStages>| stages.is_some_and(|all| all.intersects(ShaderStages::COMPUTE));
        let operations = p.subgroup_supported_operations.unwrap_or(SubgroupFeatures::empty());
        let has = |what| in_compute(p.subgroup_supported_stages) && operations.intersects(what);
        DeviceProfile {
            driver_id: p.driver_id.map_or(0, |id| ash::vk::DriverId::from(id).as_raw() as u32),
            driver_info: p.driver_info.clone().unwrap_or_default(),
            is_cpu: p.device_type == PhysicalDeviceType::Cpu,
            limits: DeviceLimits::of(physical),
            subgroup_size: p.subgroup_size.unwrap_or(1),
            least_subgroup: p.min_subgroup_size.or(p.subgroup_size).unwrap_or(1),
            subgroup_basic: has(SubgroupFeatures::BASIC),
            subgroup_shuffle: has(SubgroupFeatures::SHUFFLE),
            full_subgroups: features.subgroup_size_control
                && features.compute_full_subgroups
                && in_compute(p.required_subgroup_size_stages),
            // One that does not say lets none ask.
            max_subgroups: p.max_compute_workgroup_subgroups.unwrap_or(u32::MAX),
            uniform_subgroups: features.shader_subgroup_uniform_control_flow,
            small_scalars: [features.shader_int8, features.shader_int16, features.shader_float16],
            robust: features.robust_buffer_access2,
            float_controls: float_controls::of(p),
        }
    }

    /// What is known of its driver.
    pub(crate) fn vendor(&self) -> &'static Vendor {
        let driver = DriverId::try_from(ash::vk::DriverId::from_raw(self.driver_id as i32)).ok();
        Vendor::of(driver, self.is_cpu, self.least_subgroup)
    }
}
