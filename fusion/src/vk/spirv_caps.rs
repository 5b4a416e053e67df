//! SPIR-V capability to device feature.
//!
//! The table of the Vulkan specification's appendix "Vulkan Environment for SPIR-V", as far as it concerns compute
//! kernels on buffers, read against the features a device was *opened* with: a module that names a capability whose
//! feature is off is invalid usage, and drivers may crash on it. What is not listed is not supported. Images are
//! absent on purpose: no binding here can hold one.

use vulkano::device::{Device, physical::SubgroupFeatures};

/// The capabilities the device takes, by number, sorted.
pub(super) fn supported(device: &Device) -> Vec<u32> {
    let f = device.enabled_features();
    let p = device.physical_device().properties();
    let e = device.enabled_extensions();
    let ops = p
        .subgroup_supported_operations
        .unwrap_or(SubgroupFeatures::empty());
    let group = |needed: SubgroupFeatures| ops.contains(needed);
    let any = |flags: [Option<bool>; 3]| flags.contains(&Some(true));

    let table: &[(u32, bool)] = &[
        (0, true),              // Matrix
        (1, true),              // Shader
        (9, f.shader_float16),  // Float16
        (10, f.shader_float64), // Float64
        (11, f.shader_int64),   // Int64
        (
            12,
            f.shader_buffer_int64_atomics || f.shader_shared_int64_atomics,
        ), // Int64Atomics
        (22, f.shader_int16),   // Int16
        (28, f.shader_uniform_buffer_array_dynamic_indexing), // UniformBufferArrayDynamicIndexing
        (30, f.shader_storage_buffer_array_dynamic_indexing), // StorageBufferArrayDynamicIndexing
        (39, f.shader_int8),    // Int8
        (61, group(SubgroupFeatures::BASIC)), // GroupNonUniform
        (62, group(SubgroupFeatures::VOTE)), // GroupNonUniformVote
        (63, group(SubgroupFeatures::ARITHMETIC)), // GroupNonUniformArithmetic
        (64, group(SubgroupFeatures::BALLOT)), // GroupNonUniformBallot
        (65, group(SubgroupFeatures::SHUFFLE)), // GroupNonUniformShuffle
        (66, group(SubgroupFeatures::SHUFFLE_RELATIVE)), // GroupNonUniformShuffleRelative
        (67, group(SubgroupFeatures::CLUSTERED)), // GroupNonUniformClustered
        (68, group(SubgroupFeatures::QUAD)), // GroupNonUniformQuad
        (4423, e.ext_shader_subgroup_ballot), // SubgroupBallotKHR
        (4428, f.workgroup_memory_explicit_layout), // WorkgroupMemoryExplicitLayoutKHR
        (4429, f.workgroup_memory_explicit_layout8_bit_access), // …8BitAccessKHR
        (4430, f.workgroup_memory_explicit_layout16_bit_access), // …16BitAccessKHR
        (4431, e.ext_shader_subgroup_vote), // SubgroupVoteKHR
        (4433, f.storage_buffer16_bit_access), // StorageBuffer16BitAccess
        (4434, f.uniform_and_storage_buffer16_bit_access), // UniformAndStorageBuffer16BitAccess
        (4435, f.storage_push_constant16), // StoragePushConstant16
        (4437, true),           // DeviceGroup
        (4441, f.variable_pointers_storage_buffer), // VariablePointersStorageBuffer
        (4442, f.variable_pointers), // VariablePointers
        (4448, f.storage_buffer8_bit_access), // StorageBuffer8BitAccess
        (4449, f.uniform_and_storage_buffer8_bit_access), // UniformAndStorageBuffer8BitAccess
        (4450, f.storage_push_constant8), // StoragePushConstant8
        (
            4464, // DenormPreserve
            any([
                p.shader_denorm_preserve_float16,
                p.shader_denorm_preserve_float32,
                p.shader_denorm_preserve_float64,
            ]),
        ),
        (
            4465, // DenormFlushToZero
            any([
                p.shader_denorm_flush_to_zero_float16,
                p.shader_denorm_flush_to_zero_float32,
                p.shader_denorm_flush_to_zero_float64,
            ]),
        ),
        (
            4466, // SignedZeroInfNanPreserve
            any([
                p.shader_signed_zero_inf_nan_preserve_float16,
                p.shader_signed_zero_inf_nan_preserve_float32,
                p.shader_signed_zero_inf_nan_preserve_float64,
            ]),
        ),
        (
            4467, // RoundingModeRTE
            any([
                p.shader_rounding_mode_rte_float16,
                p.shader_rounding_mode_rte_float32,
                p.shader_rounding_mode_rte_float64,
            ]),
        ),
        (
            4468, // RoundingModeRTZ
            any([
                p.shader_rounding_mode_rtz_float16,
                p.shader_rounding_mode_rtz_float32,
                p.shader_rounding_mode_rtz_float64,
            ]),
        ),
        (5297, group(SubgroupFeatures::PARTITIONED)), // GroupNonUniformPartitionedNV
        (5345, f.vulkan_memory_model),                // VulkanMemoryModel
        (5346, f.vulkan_memory_model_device_scope),   // VulkanMemoryModelDeviceScope
        (5347, f.buffer_device_address),              // PhysicalStorageBufferAddresses
        (
            5612,
            f.shader_buffer_float32_atomic_min_max || f.shader_shared_float32_atomic_min_max,
        ), // AtomicFloat32MinMaxEXT
        (
            5613,
            f.shader_buffer_float64_atomic_min_max || f.shader_shared_float64_atomic_min_max,
        ), // AtomicFloat64MinMaxEXT
        (
            5616,
            f.shader_buffer_float16_atomic_min_max || f.shader_shared_float16_atomic_min_max,
        ), // AtomicFloat16MinMaxEXT
        (5629, f.shader_expect_assume),               // ExpectAssumeKHR
        (6016, f.shader_integer_dot_product),         // DotProductInputAll
        (6017, f.shader_integer_dot_product),         // DotProductInput4x8Bit
        (6018, f.shader_integer_dot_product),         // DotProductInput4x8BitPacked
        (6019, f.shader_integer_dot_product),         // DotProduct
        (6026, f.shader_subgroup_rotate),             // GroupNonUniformRotateKHR
        (6029, f.shader_float_controls2),             // FloatControls2
        (
            6033,
            f.shader_buffer_float32_atomic_add || f.shader_shared_float32_atomic_add,
        ), // AtomicFloat32AddEXT
        (
            6034,
            f.shader_buffer_float64_atomic_add || f.shader_shared_float64_atomic_add,
        ), // AtomicFloat64AddEXT
        (
            6095,
            f.shader_buffer_float16_atomic_add || f.shader_shared_float16_atomic_add,
        ), // AtomicFloat16AddEXT
    ];
    let mut out: Vec<u32> = table
        .iter()
        .filter(|(_, on)| *on)
        .map(|(n, _)| *n)
        .collect();
    out.sort_unstable();
    out
}
