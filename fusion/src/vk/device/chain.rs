//! The chain of feature structures that a device is made with: read where the user made the device, made here where it is our own.
//!
//! One table has the structures with those of their features that something here asks for, and says when a device of our own is made with
//! which.

use std::{ffi::CStr, ptr};

use ash::vk::{self, TaggedStructure};
use smallvec::SmallVec;
use vulkano::{
    Version, VulkanObject,
    device::{DeviceExtensions, DeviceFeatures, physical::PhysicalDevice},
};

use crate::vk::newer::{self, Flags, NewerFeatures};

/// What decides which structures there are.
struct With<'a> {
    version: Version,
    extensions: &'a DeviceExtensions,
}

/// Declares the table: each structure, when a device of our own is made with it, and its features.
macro_rules! structures {
    ($($structure:ident if $when:expr => { $($field:ident),* $(,)? })*) => {
        /// Adds what one structure of a chain says.
        ///
        /// # Safety
        ///
        /// The pointer can be followed, and the structure is of the type that it says.
        unsafe fn structure(features: &mut DeviceFeatures, node: *const vk::BaseInStructure<'_>) {
            // SAFETY: the caller's promise.
            let tag = unsafe { (*node).s_type };
            $(
                if tag == <vk::$structure<'_> as TaggedStructure>::STRUCTURE_TYPE {
                    // SAFETY: a structure of this type starts with this tag, and can be read (the caller's promise).
                    let found = unsafe { &*node.cast::<vk::$structure<'_>>() };
                    $( features.$field |= found.$field == vk::TRUE; )*
                }
            )*
        }

        /// Leaves no features but these in a structure.
        ///
        /// # Safety
        ///
        /// The pointer can be followed and written through, and the structure is of the type that it says.
        unsafe fn keep(wanted: &DeviceFeatures, node: *mut vk::BaseOutStructure<'static>) {
            // SAFETY: the caller's promise.
            let tag = unsafe { (*node).s_type };
            $(
                if tag == <vk::$structure<'_> as TaggedStructure>::STRUCTURE_TYPE {
                    // SAFETY: a structure of this type starts with this tag, and can be changed (the caller's promise).
                    let found = unsafe { &mut *node.cast::<vk::$structure<'static>>() };
                    let mut kept = vk::$structure::default();
                    $( kept.$field = (found.$field == vk::TRUE && wanted.$field).into(); )*
                    kept.p_next = found.p_next;
                    *found = kept;
                }
            )*
        }

        /// The structures that a device of our own is made with.
        fn nodes(with: &With<'_>) -> Vec<Node> {
            let mut nodes = Vec::new();
            $(
                let when: fn(&With<'_>) -> bool = $when;
                if when(with) {
                    nodes.push(Node::of(vk::$structure::default()));
                }
            )*
            nodes
        }
    };
}

/// A structure of a chain of our own.
struct Node {
    structure: *mut vk::BaseOutStructure<'static>,
    free: unsafe fn(*mut vk::BaseOutStructure<'static>),
}

impl Node {
    /// `S` is a structure that starts as all of a chain do.
    fn of<S>(structure: S) -> Node {
        let structure = Box::into_raw(Box::new(structure)).cast();
        // SAFETY: called once, when the node goes, with the pointer of the box.
        let free = |structure: *mut vk::BaseOutStructure<'static>| unsafe {
            drop(Box::from_raw(structure.cast::<S>()));
        };
        Node { structure, free }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: the pointer is that of the box, which is freed only here.
        unsafe { (self.free)(self.structure) };
    }
}

/// A chain for a device of our own.
pub(in crate::vk) struct Chain {
    first: Box<vk::PhysicalDeviceFeatures2<'static>>,
    nodes: Vec<Node>,
    /// Extensions of the structures that vulkano does not know.
    newer: Vec<&'static str>,
}

impl Chain {
    /// The structures that a device is asked with, and made with, where these extensions are on. All features are those that the
    /// device has.
    pub(in crate::vk) fn supported(device: &PhysicalDevice, extensions: &DeviceExtensions) -> Chain {
        let version = device.api_version();
        let mut nodes = nodes(&With { version, extensions });
        let newer = newer::known_to(device);
        nodes.extend(newer.iter().map(|structure| Node::of(Flags::of(structure))));
        let newer = newer.iter().map(|structure| structure.extension).collect();
        let mut chain = Chain { first: Box::default(), nodes, newer };
        let mut next = ptr::null_mut();
        for node in &chain.nodes {
            // SAFETY: the structure is the node's, and nothing else refers to it.
            unsafe { (*node.structure).p_next = next };
            next = node.structure;
        }
        chain.first.p_next = next.cast();
        let fns = device.instance().fns();
        // SAFETY: the device is of this instance, which is of version 1.1 at least; the structures live and each is of an extension or
        // version that the device has.
        unsafe { (fns.v1_1.get_physical_device_features2)(device.handle(), &mut *chain.first) };
        chain
    }

    /// Leaves no features but these, and those that vulkano does not know.
    pub(in crate::vk) fn keep(&mut self, wanted: &DeviceFeatures) {
        keep_core(wanted, &mut self.first.features);
        for node in &self.nodes {
            // SAFETY: the structure is the node's, and of its type.
            unsafe { keep(wanted, node.structure) };
        }
    }

    /// Its features.
    pub(in crate::vk) fn features(&self) -> (DeviceFeatures, NewerFeatures) {
        let (mut features, mut newer) = (DeviceFeatures::default(), NewerFeatures::default());
        core(&mut features, &self.first.features);
        for node in &self.nodes {
            // SAFETY: the structure is the node's, and of its type.
            unsafe {
                structure(&mut features, node.structure.cast_const().cast());
                newer.read(node.structure.cast_const().cast(), |name| self.newer.contains(&name));
            }
        }
        (features, newer)
    }

    /// The extensions of its structures that vulkano does not know.
    pub(in crate::vk) fn newer(&self) -> &[&'static str] {
        &self.newer
    }

    /// A device's create info with it.
    pub(in crate::vk) fn put_into<'a>(
        &'a self,
        mut info: vk::DeviceCreateInfo<'a>,
    ) -> vk::DeviceCreateInfo<'a> {
        info.p_next = ptr::from_ref(&*self.first).cast();
        info
    }
}

/// Families of queues, with their number and whether any was made with flags.
///
/// # Safety
///
/// The pointers of `info` can be followed.
pub(in crate::vk) unsafe fn families(info: &vk::DeviceCreateInfo<'_>) -> SmallVec<[(u32, u32, bool); 4]> {
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
pub(in crate::vk) unsafe fn extensions(info: &vk::DeviceCreateInfo<'_>) -> Vec<String> {
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
pub(in crate::vk) unsafe fn features(
    info: &vk::DeviceCreateInfo<'_>,
    extensions: &[String],
) -> (DeviceFeatures, NewerFeatures) {
    let (mut features, mut newer) = (DeviceFeatures::default(), NewerFeatures::default());
    // SAFETY: the pointer is null or can be followed (the caller's promise).
    if let Some(found) = unsafe { info.p_enabled_features.as_ref() } {
        core(&mut features, found);
    }
    let mut node = info.p_next.cast::<vk::BaseInStructure<'_>>();
    while !node.is_null() {
        // SAFETY: the chain can be followed (the caller's promise).
        unsafe {
            second(&mut features, node);
            structure(&mut features, node);
            newer.read(node, |name| extensions.iter().any(|one| one == name));
        }
        // SAFETY: the same.
        node = unsafe { (*node).p_next };
    }
    (features, newer)
}

/// Features of Vulkan 1.0.
macro_rules! core_features {
    ($($field:ident),* $(,)?) => {
        /// Takes them over.
        fn core(features: &mut DeviceFeatures, found: &vk::PhysicalDeviceFeatures) {
            $( features.$field |= found.$field == vk::TRUE; )*
        }

        /// Leaves none but these.
        fn keep_core(wanted: &DeviceFeatures, found: &mut vk::PhysicalDeviceFeatures) {
            let mut kept = vk::PhysicalDeviceFeatures::default();
            $( kept.$field = (found.$field == vk::TRUE && wanted.$field).into(); )*
            *found = kept;
        }
    };
}

core_features! {
    robust_buffer_access, shader_float64, shader_int64, shader_int16, image_cube_array,
    shader_uniform_buffer_array_dynamic_indexing, shader_sampled_image_array_dynamic_indexing,
    shader_storage_buffer_array_dynamic_indexing, shader_storage_image_array_dynamic_indexing,
    shader_image_gather_extended, shader_storage_image_extended_formats,
    shader_storage_image_read_without_format, shader_storage_image_write_without_format,
}

/// Adds what a structure of a chain says that is the one of all features of Vulkan 1.0.
///
/// # Safety
///
/// The pointer can be followed, and the structure is of the type that it says.
unsafe fn second(features: &mut DeviceFeatures, node: *const vk::BaseInStructure<'_>) {
    // SAFETY: the caller's promise.
    if unsafe { (*node).s_type } == vk::PhysicalDeviceFeatures2::STRUCTURE_TYPE {
        // SAFETY: a structure with this tag is of this type.
        core(features, unsafe { &(*node.cast::<vk::PhysicalDeviceFeatures2<'_>>()).features });
    }
}

structures! {
    PhysicalDeviceVulkan11Features if |_| true => {
        storage_buffer16_bit_access, uniform_and_storage_buffer16_bit_access, storage_push_constant16,
        variable_pointers_storage_buffer, variable_pointers,
    }
    PhysicalDevice16BitStorageFeatures if |_| false => {
        storage_buffer16_bit_access, uniform_and_storage_buffer16_bit_access, storage_push_constant16,
    }
    PhysicalDeviceVariablePointersFeatures if |_| false => {
        variable_pointers_storage_buffer, variable_pointers,
    }
    PhysicalDeviceVulkan12Features if |_| true => {
        storage_buffer8_bit_access, uniform_and_storage_buffer8_bit_access, storage_push_constant8,
        shader_buffer_int64_atomics, shader_shared_int64_atomics, shader_float16, shader_int8,
        descriptor_binding_uniform_buffer_update_after_bind,
        descriptor_binding_storage_buffer_update_after_bind, scalar_block_layout,
        uniform_buffer_standard_layout, shader_subgroup_extended_types, timeline_semaphore,
        buffer_device_address, vulkan_memory_model, vulkan_memory_model_device_scope,
        vulkan_memory_model_availability_visibility_chains, subgroup_broadcast_dynamic_id,
        shader_uniform_texel_buffer_array_dynamic_indexing,
        shader_storage_texel_buffer_array_dynamic_indexing,
        shader_uniform_buffer_array_non_uniform_indexing, shader_sampled_image_array_non_uniform_indexing,
        shader_storage_buffer_array_non_uniform_indexing, shader_storage_image_array_non_uniform_indexing,
        shader_uniform_texel_buffer_array_non_uniform_indexing,
        shader_storage_texel_buffer_array_non_uniform_indexing, host_query_reset,
    }
    PhysicalDevice8BitStorageFeatures if |_| false => {
        storage_buffer8_bit_access, uniform_and_storage_buffer8_bit_access, storage_push_constant8,
    }
    PhysicalDeviceShaderAtomicInt64Features if |_| false => {
        shader_buffer_int64_atomics, shader_shared_int64_atomics,
    }
    PhysicalDeviceShaderFloat16Int8Features if |_| false => {
        shader_float16, shader_int8,
    }
    PhysicalDeviceDescriptorIndexingFeatures if |_| false => {
        descriptor_binding_uniform_buffer_update_after_bind,
        descriptor_binding_storage_buffer_update_after_bind,
        shader_uniform_texel_buffer_array_dynamic_indexing,
        shader_storage_texel_buffer_array_dynamic_indexing,
        shader_uniform_buffer_array_non_uniform_indexing, shader_sampled_image_array_non_uniform_indexing,
        shader_storage_buffer_array_non_uniform_indexing, shader_storage_image_array_non_uniform_indexing,
        shader_uniform_texel_buffer_array_non_uniform_indexing,
        shader_storage_texel_buffer_array_non_uniform_indexing,
    }
    PhysicalDeviceScalarBlockLayoutFeatures if |_| false => {
        scalar_block_layout,
    }
    PhysicalDeviceUniformBufferStandardLayoutFeatures if |_| false => {
        uniform_buffer_standard_layout,
    }
    PhysicalDeviceShaderSubgroupExtendedTypesFeatures if |_| false => {
        shader_subgroup_extended_types,
    }
    PhysicalDeviceTimelineSemaphoreFeatures if |_| false => {
        timeline_semaphore,
    }
    PhysicalDeviceBufferDeviceAddressFeatures if |_| false => {
        buffer_device_address,
    }
    PhysicalDeviceVulkanMemoryModelFeatures if |_| false => {
        vulkan_memory_model, vulkan_memory_model_device_scope,
        vulkan_memory_model_availability_visibility_chains,
    }
    PhysicalDeviceVulkan13Features if |with| with.version >= Version::V1_3 => {
        subgroup_size_control, compute_full_subgroups, synchronization2,
        shader_zero_initialize_workgroup_memory, shader_integer_dot_product, maintenance4,
    }
    PhysicalDeviceSubgroupSizeControlFeatures if |with| with.version < Version::V1_3 && with.extensions.ext_subgroup_size_control => {
        subgroup_size_control, compute_full_subgroups,
    }
    PhysicalDeviceSynchronization2Features if |with| with.version < Version::V1_3 && with.extensions.khr_synchronization2 => {
        synchronization2,
    }
    PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures if |with| with.version < Version::V1_3 && with.extensions.khr_zero_initialize_workgroup_memory => {
        shader_zero_initialize_workgroup_memory,
    }
    PhysicalDeviceShaderIntegerDotProductFeatures if |with| with.version < Version::V1_3 && with.extensions.khr_shader_integer_dot_product => {
        shader_integer_dot_product,
    }
    PhysicalDeviceMaintenance4Features if |with| with.version < Version::V1_3 && with.extensions.khr_maintenance4 => {
        maintenance4,
    }
    PhysicalDeviceRobustness2FeaturesEXT if |with| with.extensions.ext_robustness2 => {
        robust_buffer_access2,
    }
    PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR if |with| with.extensions.khr_workgroup_memory_explicit_layout => {
        workgroup_memory_explicit_layout, workgroup_memory_explicit_layout_scalar_block_layout,
        workgroup_memory_explicit_layout8_bit_access, workgroup_memory_explicit_layout16_bit_access,
    }
    PhysicalDeviceShaderAtomicFloatFeaturesEXT if |with| with.extensions.ext_shader_atomic_float => {
        shader_buffer_float32_atomics, shader_buffer_float32_atomic_add, shader_buffer_float64_atomics,
        shader_buffer_float64_atomic_add, shader_shared_float32_atomics, shader_shared_float32_atomic_add,
        shader_shared_float64_atomics, shader_shared_float64_atomic_add, shader_image_float32_atomics,
        shader_image_float32_atomic_add,
    }
    PhysicalDeviceShaderAtomicFloat2FeaturesEXT if |with| with.extensions.ext_shader_atomic_float2 => {
        shader_buffer_float16_atomics, shader_buffer_float16_atomic_add,
        shader_buffer_float16_atomic_min_max, shader_buffer_float32_atomic_min_max,
        shader_buffer_float64_atomic_min_max, shader_shared_float16_atomics,
        shader_shared_float16_atomic_add, shader_shared_float16_atomic_min_max,
        shader_shared_float32_atomic_min_max, shader_shared_float64_atomic_min_max,
        shader_image_float32_atomic_min_max,
    }
    PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR if |with| with.extensions.khr_shader_subgroup_uniform_control_flow => {
        shader_subgroup_uniform_control_flow,
    }
    PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR if |with| with.extensions.khr_shader_maximal_reconvergence => {
        shader_maximal_reconvergence,
    }
    PhysicalDeviceShaderSubgroupRotateFeaturesKHR if |with| with.extensions.khr_shader_subgroup_rotate => {
        shader_subgroup_rotate, shader_subgroup_rotate_clustered,
    }
    PhysicalDeviceShaderExpectAssumeFeaturesKHR if |with| with.extensions.khr_shader_expect_assume => {
        shader_expect_assume,
    }
    PhysicalDeviceShaderFloatControls2FeaturesKHR if |with| with.extensions.khr_shader_float_controls2 => {
        shader_float_controls2,
    }
    PhysicalDeviceHostQueryResetFeatures if |_| false => {
        host_query_reset,
    }
    PhysicalDeviceShaderClockFeaturesKHR if |with| with.extensions.khr_shader_clock => {
        shader_subgroup_clock, shader_device_clock,
    }
    PhysicalDeviceShaderQuadControlFeaturesKHR if |with| with.extensions.khr_shader_quad_control => {
        shader_quad_control,
    }
    PhysicalDeviceShaderIntegerFunctions2FeaturesINTEL if |with| with.extensions.intel_shader_integer_functions2 => {
        shader_integer_functions2,
    }
    PhysicalDeviceShaderSMBuiltinsFeaturesNV if |with| with.extensions.nv_shader_sm_builtins => {
        shader_sm_builtins,
    }
    PhysicalDeviceShaderAtomicFloat16VectorFeaturesNV if |with| with.extensions.nv_shader_atomic_float16_vector => {
        shader_float16_vector_atomics,
    }
    PhysicalDevicePipelineExecutablePropertiesFeaturesKHR if |with| with.extensions.khr_pipeline_executable_properties => {
        pipeline_executable_info,
    }
}
