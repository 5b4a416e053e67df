//! Which features and extensions are switched on.
//!
//! Required ones are the floor of the whole crate. Optional ones are what kernels may use; each is switched on where
//! the device has it, because an off feature makes a kernel that the hardware could run invalid. Robust buffer access
//! is an option, because it costs on some devices.

use vulkano::device::{DeviceExtensions, DeviceFeatures, physical::PhysicalDevice};

/// The features nothing works without.
pub(in crate::vk) fn required() -> DeviceFeatures {
    DeviceFeatures { timeline_semaphore: true, synchronization2: true, ..DeviceFeatures::empty() }
}

/// The first of [`required`] that is off in `features`, for each that is.
pub(in crate::vk) fn missing(features: &DeviceFeatures) -> Vec<&'static str> {
    let mut out = Vec::new();
    if !features.timeline_semaphore {
        out.push("timeline_semaphore");
    }
    if !features.synchronization2 {
        out.push("synchronization2");
    }
    out
}

/// Everything in use here, of what vulkano knows, with robust buffer access or without.
pub(in crate::vk) fn wanted(robust: bool) -> DeviceFeatures {
    DeviceFeatures {
        robust_buffer_access: robust,
        robust_buffer_access2: robust,
        shader_float64: true,
        shader_int64: true,
        shader_int16: true,
        image_cube_array: true,
        shader_image_gather_extended: true,
        shader_storage_image_extended_formats: true,
        shader_storage_image_read_without_format: true,
        shader_storage_image_write_without_format: true,
        shader_uniform_buffer_array_dynamic_indexing: true,
        shader_sampled_image_array_dynamic_indexing: true,
        shader_storage_buffer_array_dynamic_indexing: true,
        shader_storage_image_array_dynamic_indexing: true,
        // Vulkan 1.1
        storage_buffer16_bit_access: true,
        uniform_and_storage_buffer16_bit_access: true,
        storage_push_constant16: true,
        variable_pointers_storage_buffer: true,
        variable_pointers: true,
        // Vulkan 1.2
        storage_buffer8_bit_access: true,
        uniform_and_storage_buffer8_bit_access: true,
        storage_push_constant8: true,
        shader_buffer_int64_atomics: true,
        shader_shared_int64_atomics: true,
        shader_float16: true,
        shader_int8: true,
        shader_uniform_texel_buffer_array_dynamic_indexing: true,
        shader_storage_texel_buffer_array_dynamic_indexing: true,
        shader_uniform_buffer_array_non_uniform_indexing: true,
        shader_sampled_image_array_non_uniform_indexing: true,
        shader_storage_buffer_array_non_uniform_indexing: true,
        shader_storage_image_array_non_uniform_indexing: true,
        shader_uniform_texel_buffer_array_non_uniform_indexing: true,
        shader_storage_texel_buffer_array_non_uniform_indexing: true,
        descriptor_binding_uniform_buffer_update_after_bind: true,
        descriptor_binding_storage_buffer_update_after_bind: true,
        scalar_block_layout: true,
        uniform_buffer_standard_layout: true,
        shader_subgroup_extended_types: true,
        buffer_device_address: true,
        host_query_reset: true,
        vulkan_memory_model: true,
        vulkan_memory_model_device_scope: true,
        vulkan_memory_model_availability_visibility_chains: true,
        subgroup_broadcast_dynamic_id: true,
        // Vulkan 1.3
        subgroup_size_control: true,
        compute_full_subgroups: true,
        shader_zero_initialize_workgroup_memory: true,
        shader_integer_dot_product: true,
        maintenance4: true,
        // Extensions
        workgroup_memory_explicit_layout: true,
        workgroup_memory_explicit_layout_scalar_block_layout: true,
        workgroup_memory_explicit_layout8_bit_access: true,
        workgroup_memory_explicit_layout16_bit_access: true,
        shader_buffer_float32_atomics: true,
        shader_buffer_float32_atomic_add: true,
        shader_buffer_float64_atomics: true,
        shader_buffer_float64_atomic_add: true,
        shader_shared_float32_atomics: true,
        shader_shared_float32_atomic_add: true,
        shader_shared_float64_atomics: true,
        shader_shared_float64_atomic_add: true,
        shader_buffer_float16_atomics: true,
        shader_buffer_float16_atomic_add: true,
        shader_buffer_float16_atomic_min_max: true,
        shader_buffer_float32_atomic_min_max: true,
        shader_buffer_float64_atomic_min_max: true,
        shader_shared_float16_atomics: true,
        shader_shared_float16_atomic_add: true,
        shader_shared_float16_atomic_min_max: true,
        shader_shared_float32_atomic_min_max: true,
        shader_shared_float64_atomic_min_max: true,
        shader_subgroup_uniform_control_flow: true,
        shader_maximal_reconvergence: true,
        shader_subgroup_rotate: true,
        shader_subgroup_rotate_clustered: true,
        shader_expect_assume: true,
        shader_float_controls2: true,
        shader_image_float32_atomics: true,
        shader_image_float32_atomic_add: true,
        shader_image_float32_atomic_min_max: true,
        shader_float16_vector_atomics: true,
        shader_subgroup_clock: true,
        shader_device_clock: true,
        shader_quad_control: true,
        shader_integer_functions2: true,
        shader_sm_builtins: true,
        pipeline_executable_info: true,
        ..required()
    }
}

/// The extensions in use here that the device has, of those that vulkano knows.
pub(in crate::vk) fn extensions(device: &PhysicalDevice, robust: bool) -> DeviceExtensions {
    let extensions = DeviceExtensions {
        ext_robustness2: robust,
        khr_push_descriptor: true,
        khr_synchronization2: true,
        khr_workgroup_memory_explicit_layout: true,
        khr_shader_subgroup_uniform_control_flow: true,
        khr_shader_maximal_reconvergence: true,
        khr_shader_subgroup_rotate: true,
        khr_shader_expect_assume: true,
        khr_shader_float_controls2: true,
        khr_shader_integer_dot_product: true,
        khr_zero_initialize_workgroup_memory: true,
        khr_maintenance4: true,
        ext_pipeline_creation_feedback: true,
        khr_pipeline_executable_properties: true,
        ext_subgroup_size_control: true,
        ext_shader_subgroup_ballot: true,
        ext_shader_subgroup_vote: true,
        ext_shader_atomic_float: true,
        ext_shader_atomic_float2: true,
        khr_shader_clock: true,
        khr_shader_quad_control: true,
        intel_shader_integer_functions2: true,
        nv_shader_atomic_float16_vector: true,
        nv_shader_sm_builtins: true,
        nv_shader_subgroup_partitioned: true,
        // Devices that have it are made with it.
        khr_portability_subset: true,
        ..DeviceExtensions::empty()
    };
    extensions.intersection(device.supported_extensions())
}
