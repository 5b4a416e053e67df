//! SPIR-V capability to device feature.
//!
//! The table of the Vulkan specification's appendix "Vulkan Environment for SPIR-V", as far as it concerns compute
//! kernels, read against the features a device was *opened* with: a module that names a capability whose
//! feature is off is invalid usage, and drivers may crash on it. What is not listed is not supported: of images, what
//! no binding here can hold, such as those of several samples.

use vulkano::{
    Version,
    device::{Device, DeviceExtensions, DeviceFeatures, DeviceProperties, physical::SubgroupFeatures},
};

use crate::vk::newer::NewerFeatures;

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
pub(in crate::vk) fn atomics(device: &Device) -> AtomicCaps {
    let f = device.enabled_features();
    AtomicCaps {
        int64: [f.shader_buffer_int64_atomics, f.shader_shared_int64_atomics],
        float_add: [
            [f.shader_buffer_float32_atomic_add, f.shader_shared_float32_atomic_add],
            [f.shader_buffer_float64_atomic_add, f.shader_shared_float64_atomic_add],
        ],
    }
}

/// What a device has, or what it was made with.
#[derive(Clone, Copy)]
pub(in crate::vk) struct Has<'a> {
    pub(in crate::vk) features: &'a DeviceFeatures,
    pub(in crate::vk) newer: &'a NewerFeatures,
    pub(in crate::vk) extensions: &'a DeviceExtensions,
    pub(in crate::vk) properties: &'a DeviceProperties,
    pub(in crate::vk) version: Version,
}

/// What a capability needs that nothing can be switched on for.
const NOTHING: &str = "";

/// The capabilities that a device with all of this takes, by number, sorted, and what each needs; and those that it does not take.
pub(in crate::vk) fn supported(has: &Has<'_>) -> [Vec<(u32, &'static str)>; 2] {
    let Has { features: f, newer: n, extensions: e, properties: p, version } = has;
    let ops = p.subgroup_supported_operations.unwrap_or(SubgroupFeatures::empty());
    let group = |needed: SubgroupFeatures| ops.contains(needed);
    // Vulkan 1.2 has it everywhere, but only an extension's features do anything with it before that.
    let non_uniform = *version >= Version::V1_2;
    let any = |flags: [Option<bool>; 3]| flags.contains(&Some(true));

    let table: &[(u32, &str, &'static str, bool)] = &[
        (0, "Matrix", NOTHING, true),
        (1, "Shader", NOTHING, true),
        (9, "Float16", "feature `shaderFloat16`", f.shader_float16),
        (10, "Float64", "feature `shaderFloat64`", f.shader_float64),
        (11, "Int64", "feature `shaderInt64`", f.shader_int64),
        (
            12,
            "Int64Atomics",
            "feature `shaderBufferInt64Atomics` or `shaderSharedInt64Atomics`",
            f.shader_buffer_int64_atomics || f.shader_shared_int64_atomics,
        ),
        (22, "Int16", "feature `shaderInt16`", f.shader_int16),
        (
            28,
            "UniformBufferArrayDynamicIndexing",
            "feature `shaderUniformBufferArrayDynamicIndexing`",
            f.shader_uniform_buffer_array_dynamic_indexing,
        ),
        (
            29,
            "SampledImageArrayDynamicIndexing",
            "feature `shaderSampledImageArrayDynamicIndexing`",
            f.shader_sampled_image_array_dynamic_indexing,
        ),
        (
            30,
            "StorageBufferArrayDynamicIndexing",
            "feature `shaderStorageBufferArrayDynamicIndexing`",
            f.shader_storage_buffer_array_dynamic_indexing,
        ),
        (
            31,
            "StorageImageArrayDynamicIndexing",
            "feature `shaderStorageImageArrayDynamicIndexing`",
            f.shader_storage_image_array_dynamic_indexing,
        ),
        (25, "ImageGatherExtended", "feature `shaderImageGatherExtended`", f.shader_image_gather_extended),
        (34, "ImageCubeArray", "feature `imageCubeArray`", f.image_cube_array),
        (39, "Int8", "feature `shaderInt8`", f.shader_int8),
        (43, "Sampled1D", NOTHING, true),
        (44, "Image1D", NOTHING, true),
        (45, "SampledCubeArray", "feature `imageCubeArray`", f.image_cube_array),
        (46, "SampledBuffer", NOTHING, true),
        (47, "ImageBuffer", NOTHING, true),
        (
            49,
            "StorageImageExtendedFormats",
            "feature `shaderStorageImageExtendedFormats`",
            f.shader_storage_image_extended_formats,
        ),
        (50, "ImageQuery", NOTHING, true),
        (
            55,
            "StorageImageReadWithoutFormat",
            "feature `shaderStorageImageReadWithoutFormat`",
            f.shader_storage_image_read_without_format,
        ),
        (
            56,
            "StorageImageWriteWithoutFormat",
            "feature `shaderStorageImageWriteWithoutFormat`",
            f.shader_storage_image_write_without_format,
        ),
        (61, "GroupNonUniform", NOTHING, group(SubgroupFeatures::BASIC)),
        (62, "GroupNonUniformVote", NOTHING, group(SubgroupFeatures::VOTE)),
        (63, "GroupNonUniformArithmetic", NOTHING, group(SubgroupFeatures::ARITHMETIC)),
        (64, "GroupNonUniformBallot", NOTHING, group(SubgroupFeatures::BALLOT)),
        (65, "GroupNonUniformShuffle", NOTHING, group(SubgroupFeatures::SHUFFLE)),
        (66, "GroupNonUniformShuffleRelative", NOTHING, group(SubgroupFeatures::SHUFFLE_RELATIVE)),
        (67, "GroupNonUniformClustered", NOTHING, group(SubgroupFeatures::CLUSTERED)),
        (68, "GroupNonUniformQuad", NOTHING, group(SubgroupFeatures::QUAD)),
        (4423, "SubgroupBallotKHR", "extension VK_EXT_shader_subgroup_ballot", e.ext_shader_subgroup_ballot),
        (
            4428,
            "WorkgroupMemoryExplicitLayoutKHR",
            "feature `workgroupMemoryExplicitLayout` of VK_KHR_workgroup_memory_explicit_layout",
            f.workgroup_memory_explicit_layout,
        ),
        (
            4429,
            "WorkgroupMemoryExplicitLayout8BitAccessKHR",
            "feature `workgroupMemoryExplicitLayout8BitAccess` of VK_KHR_workgroup_memory_explicit_layout",
            f.workgroup_memory_explicit_layout8_bit_access,
        ),
        (
            4430,
            "WorkgroupMemoryExplicitLayout16BitAccessKHR",
            "feature `workgroupMemoryExplicitLayout16BitAccess` of VK_KHR_workgroup_memory_explicit_layout",
            f.workgroup_memory_explicit_layout16_bit_access,
        ),
        (4431, "SubgroupVoteKHR", "extension VK_EXT_shader_subgroup_vote", e.ext_shader_subgroup_vote),
        (
            4433,
            "StorageBuffer16BitAccess",
            "feature `storageBuffer16BitAccess`",
            f.storage_buffer16_bit_access,
        ),
        (
            4434,
            "UniformAndStorageBuffer16BitAccess",
            "feature `uniformAndStorageBuffer16BitAccess`",
            f.uniform_and_storage_buffer16_bit_access,
        ),
        (4435, "StoragePushConstant16", "feature `storagePushConstant16`", f.storage_push_constant16),
        (4437, "DeviceGroup", NOTHING, true),
        (
            4441,
            "VariablePointersStorageBuffer",
            "feature `variablePointersStorageBuffer`",
            f.variable_pointers_storage_buffer,
        ),
        (4442, "VariablePointers", "feature `variablePointers`", f.variable_pointers),
        (4448, "StorageBuffer8BitAccess", "feature `storageBuffer8BitAccess`", f.storage_buffer8_bit_access),
        (
            4449,
            "UniformAndStorageBuffer8BitAccess",
            "feature `uniformAndStorageBuffer8BitAccess`",
            f.uniform_and_storage_buffer8_bit_access,
        ),
        (4450, "StoragePushConstant8", "feature `storagePushConstant8`", f.storage_push_constant8),
        (
            4464,
            "DenormPreserve",
            NOTHING,
            any([
                p.shader_denorm_preserve_float16,
                p.shader_denorm_preserve_float32,
                p.shader_denorm_preserve_float64,
            ]),
        ),
        (
            4465,
            "DenormFlushToZero",
            NOTHING,
            any([
                p.shader_denorm_flush_to_zero_float16,
                p.shader_denorm_flush_to_zero_float32,
                p.shader_denorm_flush_to_zero_float64,
            ]),
        ),
        (
            4466,
            "SignedZeroInfNanPreserve",
            NOTHING,
            any([
                p.shader_signed_zero_inf_nan_preserve_float16,
                p.shader_signed_zero_inf_nan_preserve_float32,
                p.shader_signed_zero_inf_nan_preserve_float64,
            ]),
        ),
        (
            4467,
            "RoundingModeRTE",
            NOTHING,
            any([
                p.shader_rounding_mode_rte_float16,
                p.shader_rounding_mode_rte_float32,
                p.shader_rounding_mode_rte_float64,
            ]),
        ),
        (
            4468,
            "RoundingModeRTZ",
            NOTHING,
            any([
                p.shader_rounding_mode_rtz_float16,
                p.shader_rounding_mode_rtz_float32,
                p.shader_rounding_mode_rtz_float64,
            ]),
        ),
        (5297, "GroupNonUniformPartitionedNV", NOTHING, group(SubgroupFeatures::PARTITIONED)),
        (5301, "ShaderNonUniform", NOTHING, non_uniform),
        (
            5304,
            "UniformTexelBufferArrayDynamicIndexing",
            "feature `shaderUniformTexelBufferArrayDynamicIndexing`",
            f.shader_uniform_texel_buffer_array_dynamic_indexing,
        ),
        (
            5305,
            "StorageTexelBufferArrayDynamicIndexing",
            "feature `shaderStorageTexelBufferArrayDynamicIndexing`",
            f.shader_storage_texel_buffer_array_dynamic_indexing,
        ),
        (
            5306,
            "UniformBufferArrayNonUniformIndexing",
            "feature `shaderUniformBufferArrayNonUniformIndexing`",
            f.shader_uniform_buffer_array_non_uniform_indexing,
        ),
        (
            5307,
            "SampledImageArrayNonUniformIndexing",
            "feature `shaderSampledImageArrayNonUniformIndexing`",
            f.shader_sampled_image_array_non_uniform_indexing,
        ),
        (
            5308,
            "StorageBufferArrayNonUniformIndexing",
            "feature `shaderStorageBufferArrayNonUniformIndexing`",
            f.shader_storage_buffer_array_non_uniform_indexing,
        ),
        (
            5309,
            "StorageImageArrayNonUniformIndexing",
            "feature `shaderStorageImageArrayNonUniformIndexing`",
            f.shader_storage_image_array_non_uniform_indexing,
        ),
        (
            5311,
            "UniformTexelBufferArrayNonUniformIndexing",
            "feature `shaderUniformTexelBufferArrayNonUniformIndexing`",
            f.shader_uniform_texel_buffer_array_non_uniform_indexing,
        ),
        (
            5312,
            "StorageTexelBufferArrayNonUniformIndexing",
            "feature `shaderStorageTexelBufferArrayNonUniformIndexing`",
            f.shader_storage_texel_buffer_array_non_uniform_indexing,
        ),
        (5345, "VulkanMemoryModel", "feature `vulkanMemoryModel`", f.vulkan_memory_model),
        (
            5346,
            "VulkanMemoryModelDeviceScope",
            "feature `vulkanMemoryModelDeviceScope`",
            f.vulkan_memory_model_device_scope,
        ),
        (5347, "PhysicalStorageBufferAddresses", "feature `bufferDeviceAddress`", f.buffer_device_address),
        (
            5612,
            "AtomicFloat32MinMaxEXT",
            "feature `shaderBufferFloat32AtomicMinMax` or `shaderSharedFloat32AtomicMinMax` of VK_EXT_shader_atomic_float2",
            f.shader_buffer_float32_atomic_min_max
                || f.shader_shared_float32_atomic_min_max
                || f.shader_image_float32_atomic_min_max,
        ),
        (
            5613,
            "AtomicFloat64MinMaxEXT",
            "feature `shaderBufferFloat64AtomicMinMax` or `shaderSharedFloat64AtomicMinMax` of VK_EXT_shader_atomic_float2",
            f.shader_buffer_float64_atomic_min_max || f.shader_shared_float64_atomic_min_max,
        ),
        (
            5616,
            "AtomicFloat16MinMaxEXT",
            "feature `shaderBufferFloat16AtomicMinMax` or `shaderSharedFloat16AtomicMinMax` of VK_EXT_shader_atomic_float2",
            f.shader_buffer_float16_atomic_min_max || f.shader_shared_float16_atomic_min_max,
        ),
        (
            5629,
            "ExpectAssumeKHR",
            "feature `shaderExpectAssume` of VK_KHR_shader_expect_assume",
            f.shader_expect_assume,
        ),
        (6016, "DotProductInputAll", "feature `shaderIntegerDotProduct`", f.shader_integer_dot_product),
        (6017, "DotProductInput4x8Bit", "feature `shaderIntegerDotProduct`", f.shader_integer_dot_product),
        (
            6018,
            "DotProductInput4x8BitPacked",
            "feature `shaderIntegerDotProduct`",
            f.shader_integer_dot_product,
        ),
        (6019, "DotProduct", "feature `shaderIntegerDotProduct`", f.shader_integer_dot_product),
        (
            6026,
            "GroupNonUniformRotateKHR",
            "feature `shaderSubgroupRotate` of VK_KHR_shader_subgroup_rotate",
            f.shader_subgroup_rotate,
        ),
        (
            6029,
            "FloatControls2",
            "feature `shaderFloatControls2` of VK_KHR_shader_float_controls2",
            f.shader_float_controls2,
        ),
        (
            6033,
            "AtomicFloat32AddEXT",
            "feature `shaderBufferFloat32AtomicAdd` or `shaderSharedFloat32AtomicAdd` of VK_EXT_shader_atomic_float",
            f.shader_buffer_float32_atomic_add
                || f.shader_shared_float32_atomic_add
                || f.shader_image_float32_atomic_add,
        ),
        (
            6034,
            "AtomicFloat64AddEXT",
            "feature `shaderBufferFloat64AtomicAdd` or `shaderSharedFloat64AtomicAdd` of VK_EXT_shader_atomic_float",
            f.shader_buffer_float64_atomic_add || f.shader_shared_float64_atomic_add,
        ),
        (
            6095,
            "AtomicFloat16AddEXT",
            "feature `shaderBufferFloat16AtomicAdd` or `shaderSharedFloat16AtomicAdd` of VK_EXT_shader_atomic_float2",
            f.shader_buffer_float16_atomic_add || f.shader_shared_float16_atomic_add,
        ),
        (
            6022,
            "CooperativeMatrixKHR",
            "feature `cooperativeMatrix` of VK_KHR_cooperative_matrix",
            n.has("VK_KHR_cooperative_matrix", "cooperativeMatrix"),
        ),
        (
            5357,
            "CooperativeMatrixNV",
            "feature `cooperativeMatrix` of VK_NV_cooperative_matrix",
            n.has("VK_NV_cooperative_matrix", "cooperativeMatrix"),
        ),
        (
            5430,
            "CooperativeMatrixReductionsNV",
            "feature `cooperativeMatrixReductions` of VK_NV_cooperative_matrix2",
            n.has("VK_NV_cooperative_matrix2", "cooperativeMatrixReductions"),
        ),
        (
            5431,
            "CooperativeMatrixConversionsNV",
            "feature `cooperativeMatrixConversions` of VK_NV_cooperative_matrix2",
            n.has("VK_NV_cooperative_matrix2", "cooperativeMatrixConversions"),
        ),
        (
            5432,
            "CooperativeMatrixPerElementOperationsNV",
            "feature `cooperativeMatrixPerElementOperations` of VK_NV_cooperative_matrix2",
            n.has("VK_NV_cooperative_matrix2", "cooperativeMatrixPerElementOperations"),
        ),
        (
            5433,
            "CooperativeMatrixTensorAddressingNV",
            "feature `cooperativeMatrixTensorAddressing` of VK_NV_cooperative_matrix2",
            n.has("VK_NV_cooperative_matrix2", "cooperativeMatrixTensorAddressing"),
        ),
        (
            5434,
            "CooperativeMatrixBlockLoadsNV",
            "feature `cooperativeMatrixBlockLoads` of VK_NV_cooperative_matrix2",
            n.has("VK_NV_cooperative_matrix2", "cooperativeMatrixBlockLoads"),
        ),
        (
            5439,
            "TensorAddressingNV",
            "feature `cooperativeMatrixTensorAddressing` of VK_NV_cooperative_matrix2",
            n.has("VK_NV_cooperative_matrix2", "cooperativeMatrixTensorAddressing"),
        ),
        (
            5394,
            "CooperativeVectorNV",
            "feature `cooperativeVector` of VK_NV_cooperative_vector",
            n.has("VK_NV_cooperative_vector", "cooperativeVector"),
        ),
        (
            5435,
            "CooperativeVectorTrainingNV",
            "feature `cooperativeVectorTraining` of VK_NV_cooperative_vector",
            n.has("VK_NV_cooperative_vector", "cooperativeVectorTraining"),
        ),
        (
            5116,
            "BFloat16TypeKHR",
            "feature `shaderBFloat16Type` of VK_KHR_shader_bfloat16",
            n.has("VK_KHR_shader_bfloat16", "shaderBFloat16Type"),
        ),
        (
            5117,
            "BFloat16DotProductKHR",
            "feature `shaderBFloat16DotProduct` of VK_KHR_shader_bfloat16",
            n.has("VK_KHR_shader_bfloat16", "shaderBFloat16DotProduct"),
        ),
        (
            5118,
            "BFloat16CooperativeMatrixKHR",
            "feature `shaderBFloat16CooperativeMatrix` of VK_KHR_shader_bfloat16",
            n.has("VK_KHR_shader_bfloat16", "shaderBFloat16CooperativeMatrix"),
        ),
        (
            4212,
            "Float8EXT",
            "feature `shaderFloat8` of VK_EXT_shader_float8",
            n.has("VK_EXT_shader_float8", "shaderFloat8"),
        ),
        (
            4213,
            "Float8CooperativeMatrixEXT",
            "feature `shaderFloat8CooperativeMatrix` of VK_EXT_shader_float8",
            n.has("VK_EXT_shader_float8", "shaderFloat8CooperativeMatrix"),
        ),
        (
            6024,
            "ReplicatedCompositesEXT",
            "feature `shaderReplicatedComposites` of VK_EXT_shader_replicated_composites",
            n.has("VK_EXT_shader_replicated_composites", "shaderReplicatedComposites"),
        ),
        (
            4473,
            "UntypedPointersKHR",
            "feature `shaderUntypedPointers` of VK_KHR_shader_untyped_pointers",
            n.has("VK_KHR_shader_untyped_pointers", "shaderUntypedPointers"),
        ),
        (
            6030,
            "FMAKHR",
            "feature `shaderFmaFloat32` of VK_KHR_shader_fma",
            ["16", "32", "64"].iter().any(|width| n.any(&format!("shaderFmaFloat{width}"))),
        ),
        (
            5288,
            "ComputeDerivativeGroupQuadsKHR",
            "feature `computeDerivativeGroupQuads` of VK_KHR_compute_shader_derivatives",
            n.any("computeDerivativeGroupQuads"),
        ),
        (
            5350,
            "ComputeDerivativeGroupLinearKHR",
            "feature `computeDerivativeGroupLinear` of VK_KHR_compute_shader_derivatives",
            n.any("computeDerivativeGroupLinear"),
        ),
        (
            5055,
            "ShaderClockKHR",
            "feature `shaderSubgroupClock` or `shaderDeviceClock` of VK_KHR_shader_clock",
            f.shader_subgroup_clock || f.shader_device_clock,
        ),
        (
            5087,
            "QuadControlKHR",
            "feature `shaderQuadControl` of VK_KHR_shader_quad_control",
            f.shader_quad_control,
        ),
        (
            5584,
            "IntegerFunctions2INTEL",
            "feature `shaderIntegerFunctions2` of VK_INTEL_shader_integer_functions2",
            f.shader_integer_functions2,
        ),
        (
            5373,
            "ShaderSMBuiltinsNV",
            "feature `shaderSmBuiltins` of VK_NV_shader_sm_builtins",
            f.shader_sm_builtins,
        ),
        (
            5404,
            "AtomicFloat16VectorNV",
            "feature `shaderFloat16VectorAtomics` of VK_NV_shader_atomic_float16_vector",
            f.shader_float16_vector_atomics,
        ),
    ];
    [true, false].map(|which| {
        let those = table.iter().filter(|(.., on)| *on == which);
        let mut out: Vec<(u32, &'static str)> =
            those.map(|(number, _, needs, _)| (*number, *needs)).collect();
        out.sort_unstable();
        out
    })
}
