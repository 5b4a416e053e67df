//! What a device was made with, from the structures that it was made with.

use std::ffi::CStr;

use ash::vk::{self, TaggedStructure};
use smallvec::SmallVec;
use vulkano::device::DeviceFeatures;

/// Takes features over from each structure of a chain that is in the table: those that something here asks for.
macro_rules! features_of {
    ($features:ident, $tag:ident, $node:ident; $($structure:ident { $($field:ident),* $(,)? })*) => {
        $(
            if $tag == <vk::$structure<'_> as TaggedStructure>::STRUCTURE_TYPE {
                // SAFETY: a structure of this type starts with this tag, and the chain can be followed (the caller's promise).
                let found = unsafe { &*$node.cast::<vk::$structure<'_>>() };
                $( $features.$field |= found.$field == vk::TRUE; )*
            }
        )*
    };
}

/// Families of queues, with their number and whether any was made with flags.
///
/// # Safety
///
/// The pointers of `info` can be followed.
pub(super) unsafe fn families(info: &vk::DeviceCreateInfo<'_>) -> SmallVec<[(u32, u32, bool); 4]> {
    if info.p_queue_create_infos.is_null() {
        return SmallVec::new();
    }
    let count = info.queue_create_info_count as usize;
    // SAFETY: the pointer is to as many structures (the caller's promise).
    let all = unsafe { std::slice::from_raw_parts(info.p_queue_create_infos, count) };
    all.iter().map(|one| (one.queue_family_index, one.queue_count, !one.flags.is_empty())).collect()
}

/// The names of the extensions.
///
/// # Safety
///
/// The pointers of `info` can be followed.
pub(super) unsafe fn extensions(info: &vk::DeviceCreateInfo<'_>) -> Vec<String> {
    if info.pp_enabled_extension_names.is_null() {
        return Vec::new();
    }
    let count = info.enabled_extension_count as usize;
    // SAFETY: the pointer is to as many names (the caller's promise).
    let names = unsafe { std::slice::from_raw_parts(info.pp_enabled_extension_names, count) };
    let known = names.iter().filter(|name| !name.is_null());
    // SAFETY: each is a string that ends with a zero (the caller's promise).
    known.map(|name| unsafe { CStr::from_ptr(*name) }.to_string_lossy().into_owned()).collect()
}

/// The features that are on, as far as something here asks for them.
///
/// # Safety
///
/// The pointers of `info` can be followed, and so can those of its chain.
pub(super) unsafe fn features(info: &vk::DeviceCreateInfo<'_>) -> DeviceFeatures {
    let mut features = DeviceFeatures::default();
    // SAFETY: the pointer is null or can be followed (the caller's promise).
    if let Some(found) = unsafe { info.p_enabled_features.as_ref() } {
        core(&mut features, found);
    }
    let mut node = info.p_next.cast::<vk::BaseInStructure<'_>>();
    while !node.is_null() {
        // SAFETY: the chain can be followed (the caller's promise).
        unsafe { structure(&mut features, node) };
        // SAFETY: the same.
        node = unsafe { (*node).p_next };
    }
    features
}

/// Takes over features of Vulkan 1.0.
fn core(features: &mut DeviceFeatures, found: &vk::PhysicalDeviceFeatures) {
    macro_rules! take {
        ($($field:ident,)*) => { $( features.$field |= found.$field == vk::TRUE; )* };
    }
    take! {
        robust_buffer_access, shader_float64, shader_int64, shader_int16, image_cube_array,
        shader_uniform_buffer_array_dynamic_indexing, shader_storage_buffer_array_dynamic_indexing,
        shader_image_gather_extended, shader_storage_image_extended_formats,
        shader_storage_image_read_without_format, shader_storage_image_write_without_format,
    }
}

/// Adds what one structure of a chain says.
///
/// # Safety
///
/// The pointer can be followed, and the structure is of the type that it says.
unsafe fn structure(features: &mut DeviceFeatures, node: *const vk::BaseInStructure<'_>) {
    // SAFETY: the caller's promise.
    let tag = unsafe { (*node).s_type };
    if tag == vk::PhysicalDeviceFeatures2::STRUCTURE_TYPE {
        // SAFETY: a structure with this tag is of this type.
        core(features, unsafe { &(*node.cast::<vk::PhysicalDeviceFeatures2<'_>>()).features });
    }
    features_of! { features, tag, node;
        PhysicalDeviceVulkan11Features {
            storage_buffer16_bit_access, uniform_and_storage_buffer16_bit_access, storage_push_constant16,
            variable_pointers_storage_buffer, variable_pointers,
        }
        PhysicalDevice16BitStorageFeatures {
            storage_buffer16_bit_access, uniform_and_storage_buffer16_bit_access, storage_push_constant16,
        }
        PhysicalDeviceVariablePointersFeatures { variable_pointers_storage_buffer, variable_pointers }
        PhysicalDeviceVulkan12Features {
            storage_buffer8_bit_access, uniform_and_storage_buffer8_bit_access, storage_push_constant8,
            shader_buffer_int64_atomics, shader_shared_int64_atomics, shader_float16, shader_int8,
            descriptor_binding_uniform_buffer_update_after_bind,
            descriptor_binding_storage_buffer_update_after_bind,
            scalar_block_layout, uniform_buffer_standard_layout, shader_subgroup_extended_types,
            timeline_semaphore, buffer_device_address, vulkan_memory_model, vulkan_memory_model_device_scope,
            vulkan_memory_model_availability_visibility_chains, subgroup_broadcast_dynamic_id,
        }
        PhysicalDevice8BitStorageFeatures {
            storage_buffer8_bit_access, uniform_and_storage_buffer8_bit_access, storage_push_constant8,
        }
        PhysicalDeviceShaderAtomicInt64Features { shader_buffer_int64_atomics, shader_shared_int64_atomics }
        PhysicalDeviceShaderFloat16Int8Features { shader_float16, shader_int8 }
        PhysicalDeviceDescriptorIndexingFeatures {
            descriptor_binding_uniform_buffer_update_after_bind,
            descriptor_binding_storage_buffer_update_after_bind,
        }
        PhysicalDeviceScalarBlockLayoutFeatures { scalar_block_layout }
        PhysicalDeviceUniformBufferStandardLayoutFeatures { uniform_buffer_standard_layout }
        PhysicalDeviceShaderSubgroupExtendedTypesFeatures { shader_subgroup_extended_types }
        PhysicalDeviceTimelineSemaphoreFeatures { timeline_semaphore }
        PhysicalDeviceBufferDeviceAddressFeatures { buffer_device_address }
        PhysicalDeviceVulkanMemoryModelFeatures {
            vulkan_memory_model, vulkan_memory_model_device_scope,
            vulkan_memory_model_availability_visibility_chains,
        }
        PhysicalDeviceVulkan13Features {
            subgroup_size_control, compute_full_subgroups, synchronization2,
            shader_zero_initialize_workgroup_memory, shader_integer_dot_product, maintenance4,
        }
        PhysicalDeviceSubgroupSizeControlFeatures { subgroup_size_control, compute_full_subgroups }
        PhysicalDeviceSynchronization2Features { synchronization2 }
        PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures { shader_zero_initialize_workgroup_memory }
        PhysicalDeviceShaderIntegerDotProductFeatures { shader_integer_dot_product }
        PhysicalDeviceMaintenance4Features { maintenance4 }
        PhysicalDeviceRobustness2FeaturesEXT { robust_buffer_access2 }
        PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR {
            workgroup_memory_explicit_layout, workgroup_memory_explicit_layout_scalar_block_layout,
            workgroup_memory_explicit_layout8_bit_access, workgroup_memory_explicit_layout16_bit_access,
        }
        PhysicalDeviceShaderAtomicFloatFeaturesEXT {
            shader_buffer_float32_atomics, shader_buffer_float32_atomic_add, shader_buffer_float64_atomics,
            shader_buffer_float64_atomic_add, shader_shared_float32_atomics,
            shader_shared_float32_atomic_add, shader_shared_float64_atomics,
            shader_shared_float64_atomic_add,
        }
        PhysicalDeviceShaderAtomicFloat2FeaturesEXT {
            shader_buffer_float16_atomics, shader_buffer_float16_atomic_add,
            shader_buffer_float16_atomic_min_max, shader_buffer_float32_atomic_min_max,
            shader_buffer_float64_atomic_min_max, shader_shared_float16_atomics,
            shader_shared_float16_atomic_add, shader_shared_float16_atomic_min_max,
            shader_shared_float32_atomic_min_max, shader_shared_float64_atomic_min_max,
        }
        PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR { shader_subgroup_uniform_control_flow }
        PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR { shader_maximal_reconvergence }
        PhysicalDeviceShaderSubgroupRotateFeaturesKHR { shader_subgroup_rotate, shader_subgroup_rotate_clustered }
        PhysicalDeviceShaderExpectAssumeFeaturesKHR { shader_expect_assume }
        PhysicalDeviceShaderFloatControls2FeaturesKHR { shader_float_controls2 }
    }
}
