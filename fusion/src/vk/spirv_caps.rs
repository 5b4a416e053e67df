//! SPIR-V capability to device feature.
//!
//! The table of the Vulkan specification's appendix "Vulkan Environment for SPIR-V", as far as it concerns compute
//! kernels, read against the features a device was *opened* with: a module that names a capability whose
//! feature is off is invalid usage, and drivers may crash on it. What is not listed is not supported: of images, what
//! no binding here can hold, such as those of several samples.

use vulkano::{
    Version,
    device::{Device, physical::SubgroupFeatures},
};

/// What a device changes atomically beside integers of 32 bits, in buffers and in shared memory: a SPIR-V capability says that it
/// does in one of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AtomicCaps {
    /// All operations of 64-bit integers.
    pub(crate) int64: [bool; 2],
    /// Additions of floats of 32 and 64 bits.
    pub(crate) float_add: [[bool; 2]; 2],
}

/// The atomic operations of a device as it was opened.
pub(super) fn atomics(device: &Device) -> AtomicCaps {
    let f = device.enabled_features();
    AtomicCaps {
        int64: [f.shader_buffer_int64_atomics, f.shader_shared_int64_atomics],
        float_add: [
            [f.shader_buffer_float32_atomic_add, f.shader_shared_float32_atomic_add],
            [f.shader_buffer_float64_atomic_add, f.shader_shared_float64_atomic_add],
        ],
    }
}

/// The capabilities the device takes, by number, sorted.
pub(super) fn supported(device: &Device) -> Vec<u32> {
    let f = device.enabled_features();
    let p = device.physical_device().properties();
    let e = device.enabled_extensions();
    let ops = p.subgroup_supported_operations.unwrap_or(SubgroupFeatures::empty());
    let group = |needed: SubgroupFeatures| ops.contains(needed);
    // Vulkan 1.2 has it everywhere, but only an extension's features do anything with it before that.
    let non_uniform = device.api_version() >= Version::V1_2;
    let any = |flags: [Option<bool>; 3]| flags.contains(&Some(true));

    let table: &[(u32, &str, bool)] = &[
        (0, "Matrix", true),
        (1, "Shader", true),
        (9, "Float16", f.shader_float16),
        (10, "Float64", f.shader_float64),
        (11, "Int64", f.shader_int64),
        (12, "Int64Atomics", f.shader_buffer_int64_atomics || f.shader_shared_int64_atomics),
        (22, "Int16", f.shader_int16),
        (28, "UniformBufferArrayDynamicIndexing", f.shader_uniform_buffer_array_dynamic_indexing),
        (29, "SampledImageArrayDynamicIndexing", f.shader_sampled_image_array_dynamic_indexing),
        (30, "StorageBufferArrayDynamicIndexing", f.shader_storage_buffer_array_dynamic_indexing),
        (31, "StorageImageArrayDynamicIndexing", f.shader_storage_image_array_dynamic_indexing),
        (25, "ImageGatherExtended", f.shader_image_gather_extended),
        (34, "ImageCubeArray", f.image_cube_array),
        (39, "Int8", f.shader_int8),
        (43, "Sampled1D", true),
        (44, "Image1D", true),
        (45, "SampledCubeArray", f.image_cube_array),
        (46, "SampledBuffer", true),
        (47, "ImageBuffer", true),
        (49, "StorageImageExtendedFormats", f.shader_storage_image_extended_formats),
        (50, "ImageQuery", true),
        (55, "StorageImageReadWithoutFormat", f.shader_storage_image_read_without_format),
        (56, "StorageImageWriteWithoutFormat", f.shader_storage_image_write_without_format),
        (61, "GroupNonUniform", group(SubgroupFeatures::BASIC)),
        (62, "GroupNonUniformVote", group(SubgroupFeatures::VOTE)),
        (63, "GroupNonUniformArithmetic", group(SubgroupFeatures::ARITHMETIC)),
        (64, "GroupNonUniformBallot", group(SubgroupFeatures::BALLOT)),
        (65, "GroupNonUniformShuffle", group(SubgroupFeatures::SHUFFLE)),
        (66, "GroupNonUniformShuffleRelative", group(SubgroupFeatures::SHUFFLE_RELATIVE)),
        (67, "GroupNonUniformClustered", group(SubgroupFeatures::CLUSTERED)),
        (68, "GroupNonUniformQuad", group(SubgroupFeatures::QUAD)),
        (4423, "SubgroupBallotKHR", e.ext_shader_subgroup_ballot),
        (4428, "WorkgroupMemoryExplicitLayoutKHR", f.workgroup_memory_explicit_layout),
        (4429, "WorkgroupMemoryExplicitLayout8BitAccessKHR", f.workgroup_memory_explicit_layout8_bit_access),
        (
            4430,
            "WorkgroupMemoryExplicitLayout16BitAccessKHR",
            f.workgroup_memory_explicit_layout16_bit_access,
        ),
        (4431, "SubgroupVoteKHR", e.ext_shader_subgroup_vote),
        (4433, "StorageBuffer16BitAccess", f.storage_buffer16_bit_access),
        (4434, "UniformAndStorageBuffer16BitAccess", f.uniform_and_storage_buffer16_bit_access),
        (4435, "StoragePushConstant16", f.storage_push_constant16),
        (4437, "DeviceGroup", true),
        (4441, "VariablePointersStorageBuffer", f.variable_pointers_storage_buffer),
        (4442, "VariablePointers", f.variable_pointers),
        (4448, "StorageBuffer8BitAccess", f.storage_buffer8_bit_access),
        (4449, "UniformAndStorageBuffer8BitAccess", f.uniform_and_storage_buffer8_bit_access),
        (4450, "StoragePushConstant8", f.storage_push_constant8),
        (
            4464,
            "DenormPreserve",
            any([
                p.shader_denorm_preserve_float16,
                p.shader_denorm_preserve_float32,
                p.shader_denorm_preserve_float64,
            ]),
        ),
        (
            4465,
            "DenormFlushToZero",
            any([
                p.shader_denorm_flush_to_zero_float16,
                p.shader_denorm_flush_to_zero_float32,
                p.shader_denorm_flush_to_zero_float64,
            ]),
        ),
        (
            4466,
            "SignedZeroInfNanPreserve",
            any([
                p.shader_signed_zero_inf_nan_preserve_float16,
                p.shader_signed_zero_inf_nan_preserve_float32,
                p.shader_signed_zero_inf_nan_preserve_float64,
            ]),
        ),
        (
            4467,
            "RoundingModeRTE",
            any([
                p.shader_rounding_mode_rte_float16,
                p.shader_rounding_mode_rte_float32,
                p.shader_rounding_mode_rte_float64,
            ]),
        ),
        (
            4468,
            "RoundingModeRTZ",
            any([
                p.shader_rounding_mode_rtz_float16,
                p.shader_rounding_mode_rtz_float32,
                p.shader_rounding_mode_rtz_float64,
            ]),
        ),
        (5297, "GroupNonUniformPartitionedNV", group(SubgroupFeatures::PARTITIONED)),
        (5301, "ShaderNonUniform", non_uniform),
        (
            5304,
            "UniformTexelBufferArrayDynamicIndexing",
            f.shader_uniform_texel_buffer_array_dynamic_indexing,
        ),
        (
            5305,
            "StorageTexelBufferArrayDynamicIndexing",
            f.shader_storage_texel_buffer_array_dynamic_indexing,
        ),
        (5306, "UniformBufferArrayNonUniformIndexing", f.shader_uniform_buffer_array_non_uniform_indexing),
        (5307, "SampledImageArrayNonUniformIndexing", f.shader_sampled_image_array_non_uniform_indexing),
        (5308, "StorageBufferArrayNonUniformIndexing", f.shader_storage_buffer_array_non_uniform_indexing),
        (5309, "StorageImageArrayNonUniformIndexing", f.shader_storage_image_array_non_uniform_indexing),
        (
            5311,
            "UniformTexelBufferArrayNonUniformIndexing",
            f.shader_uniform_texel_buffer_array_non_uniform_indexing,
        ),
        (
            5312,
            "StorageTexelBufferArrayNonUniformIndexing",
            f.shader_storage_texel_buffer_array_non_uniform_indexing,
        ),
        (5345, "VulkanMemoryModel", f.vulkan_memory_model),
        (5346, "VulkanMemoryModelDeviceScope", f.vulkan_memory_model_device_scope),
        (5347, "PhysicalStorageBufferAddresses", f.buffer_device_address),
        (
            5612,
            "AtomicFloat32MinMaxEXT",
            f.shader_buffer_float32_atomic_min_max || f.shader_shared_float32_atomic_min_max,
        ),
        (
            5613,
            "AtomicFloat64MinMaxEXT",
            f.shader_buffer_float64_atomic_min_max || f.shader_shared_float64_atomic_min_max,
        ),
        (
            5616,
            "AtomicFloat16MinMaxEXT",
            f.shader_buffer_float16_atomic_min_max || f.shader_shared_float16_atomic_min_max,
        ),
        (5629, "ExpectAssumeKHR", f.shader_expect_assume),
        (6016, "DotProductInputAll", f.shader_integer_dot_product),
        (6017, "DotProductInput4x8Bit", f.shader_integer_dot_product),
        (6018, "DotProductInput4x8BitPacked", f.shader_integer_dot_product),
        (6019, "DotProduct", f.shader_integer_dot_product),
        // Switched on by who opens a device for themselves.
        (6022, "CooperativeMatrixKHR", f.cooperative_matrix),
        (6026, "GroupNonUniformRotateKHR", f.shader_subgroup_rotate),
        (6029, "FloatControls2", f.shader_float_controls2),
        (
            6033,
            "AtomicFloat32AddEXT",
            f.shader_buffer_float32_atomic_add || f.shader_shared_float32_atomic_add,
        ),
        (
            6034,
            "AtomicFloat64AddEXT",
            f.shader_buffer_float64_atomic_add || f.shader_shared_float64_atomic_add,
        ),
        (
            6095,
            "AtomicFloat16AddEXT",
            f.shader_buffer_float16_atomic_add || f.shader_shared_float16_atomic_add,
        ),
    ];
    let mut out: Vec<u32> = table.iter().filter(|(_, _, on)| *on).map(|(number, _, _)| *number).collect();
    out.sort_unstable();
    out
}
