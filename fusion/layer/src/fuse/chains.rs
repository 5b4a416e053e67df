//! The chain of structures that a device is made with, with features that are switched on.
//!
//! A program's structures are never written to: those up to the last one that changes are copied. That takes their sizes, so a
//! chain with an unknown structure in front of one that would have to change stays as it is, and nothing is fused.
//!
//! # Safety
//! Chains are those that a program passes to Vulkan, valid as the specification says.
#![allow(unsafe_op_in_unsafe_fn)]

use crate::chain::LOADER_INFO;
use ash::vk::{self, TaggedStructure};
use std::ffi::c_void;

/// A chain of structures, some of them our own.
pub(super) struct Chain {
    first: *const c_void,
    /// Copies, and structures that the program has not.
    _own: Vec<Box<[u64]>>,
}

/// Structures with known sizes.
macro_rules! sizes {
    ($kind:expr, $($name:ident)*) => {
        match $kind {
            // The loader's.
            vk::StructureType::LOADER_DEVICE_CREATE_INFO => Some(LOADER_INFO),
            $(kind if kind == <vk::$name<'_> as TaggedStructure>::STRUCTURE_TYPE => Some(size_of::<vk::$name<'_>>()),)*
            _ => None,
        }
    };
}

fn size(kind: vk::StructureType) -> Option<usize> {
    sizes!(kind,
        PhysicalDeviceFeatures2 PhysicalDeviceVulkan11Features PhysicalDeviceVulkan12Features
        PhysicalDeviceVulkan13Features PhysicalDevice16BitStorageFeatures PhysicalDevice8BitStorageFeatures
        PhysicalDeviceShaderFloat16Int8Features PhysicalDeviceSynchronization2Features
        PhysicalDeviceTimelineSemaphoreFeatures PhysicalDeviceSubgroupSizeControlFeatures
        PhysicalDeviceVulkanMemoryModelFeatures PhysicalDeviceBufferDeviceAddressFeatures
        PhysicalDeviceDescriptorIndexingFeatures PhysicalDeviceHostQueryResetFeatures
        PhysicalDeviceCooperativeMatrixFeaturesKHR PhysicalDeviceCooperativeMatrixFeaturesNV
        PhysicalDeviceRobustness2FeaturesEXT PhysicalDevicePipelineRobustnessFeaturesEXT
        PhysicalDeviceImageRobustnessFeatures PhysicalDeviceMaintenance4Features
        PhysicalDeviceMaintenance5FeaturesKHR PhysicalDeviceMaintenance6FeaturesKHR
        PhysicalDeviceShaderIntegerDotProductFeatures PhysicalDeviceScalarBlockLayoutFeatures
        PhysicalDeviceUniformBufferStandardLayoutFeatures PhysicalDeviceVariablePointersFeatures
        PhysicalDeviceSamplerYcbcrConversionFeatures PhysicalDeviceMultiviewFeatures
        PhysicalDeviceShaderAtomicFloatFeaturesEXT PhysicalDeviceShaderAtomicFloat2FeaturesEXT
        PhysicalDeviceShaderAtomicInt64Features PhysicalDevicePipelineExecutablePropertiesFeaturesKHR
        PhysicalDevicePortabilitySubsetFeaturesKHR PhysicalDeviceMemoryPriorityFeaturesEXT
        PhysicalDeviceShaderSubgroupExtendedTypesFeatures PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR
        PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures
        PhysicalDevicePrivateDataFeatures PhysicalDeviceDynamicRenderingFeatures
        PhysicalDeviceInlineUniformBlockFeatures PhysicalDeviceImagelessFramebufferFeatures
        PhysicalDeviceShaderClockFeaturesKHR PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR
        PhysicalDeviceShaderDemoteToHelperInvocationFeatures PhysicalDeviceShaderTerminateInvocationFeatures
        PhysicalDeviceShaderDrawParametersFeatures PhysicalDeviceProtectedMemoryFeatures
        PhysicalDeviceDepthClipEnableFeaturesEXT PhysicalDeviceExternalMemoryRDMAFeaturesNV
        PhysicalDevicePageableDeviceLocalMemoryFeaturesEXT PhysicalDeviceTextureCompressionASTCHDRFeatures
        PhysicalDeviceShaderSubgroupRotateFeaturesKHR PhysicalDeviceShaderExpectAssumeFeaturesKHR
        PhysicalDeviceShaderFloatControls2FeaturesKHR DeviceGroupDeviceCreateInfo DevicePrivateDataCreateInfo
    )
}

/// What has to be on, in whichever structure has it.
const TIMELINE: [vk::StructureType; 2] = [
    vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
    vk::StructureType::PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
];
const BARRIERS: [vk::StructureType; 2] = [
    vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
    vk::StructureType::PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
];

/// The feature in a structure that has it.
unsafe fn feature(node: *mut vk::BaseOutStructure<'static>) -> Option<*mut vk::Bool32> {
    Some(match (*node).s_type {
        vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES => {
            &raw mut (*node.cast::<vk::PhysicalDeviceVulkan12Features<'static>>()).timeline_semaphore
        }
        vk::StructureType::PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES => {
            &raw mut (*node.cast::<vk::PhysicalDeviceTimelineSemaphoreFeatures<'static>>()).timeline_semaphore
        }
        vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_FEATURES => {
            &raw mut (*node.cast::<vk::PhysicalDeviceVulkan13Features<'static>>()).synchronization2
        }
        vk::StructureType::PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES => {
            &raw mut (*node.cast::<vk::PhysicalDeviceSynchronization2Features<'static>>()).synchronization2
        }
        _ => return None,
    })
}

impl Chain {
    /// The chain with all features on that are needed.
    pub(super) unsafe fn with_needed(given: *const c_void) -> Result<Chain, String> {
        let mut nodes = Vec::new();
        let mut at = given.cast::<vk::BaseOutStructure<'static>>().cast_mut();
        while !at.is_null() {
            nodes.push(at);
            at = (*at).p_next;
        }
        let mut own: Vec<Box<[u64]>> = Vec::new();
        let is_off =
            |node: &*mut vk::BaseOutStructure<'static>| feature(*node).is_some_and(|at| *at != vk::TRUE);
        let copied = nodes.iter().rposition(is_off).map_or(0, |last| last + 1);
        let mut copies = Vec::with_capacity(copied);
        for node in &nodes[..copied] {
            let kind = (**node).s_type;
            let size =
                size(kind).ok_or_else(|| format!("the device is made with structure {}", kind.as_raw()))?;
            let mut bytes = vec![0u64; size.div_ceil(8)].into_boxed_slice();
            std::ptr::copy_nonoverlapping(node.cast::<u8>(), bytes.as_mut_ptr().cast(), size);
            let copy = bytes.as_mut_ptr().cast::<vk::BaseOutStructure<'static>>();
            if let Some(feature) = feature(copy) {
                *feature = vk::TRUE;
            }
            copies.push(copy);
            own.push(bytes);
        }
        for (index, copy) in copies.iter().enumerate() {
            (**copy).p_next =
                copies.get(index + 1).or(nodes.get(copied)).copied().unwrap_or(std::ptr::null_mut());
        }
        let mut first = copies.first().or(nodes.first()).copied().unwrap_or(std::ptr::null_mut());
        for (kinds, size) in [
            (TIMELINE, size_of::<vk::PhysicalDeviceTimelineSemaphoreFeatures<'_>>()),
            (BARRIERS, size_of::<vk::PhysicalDeviceSynchronization2Features<'_>>()),
        ] {
            if nodes.iter().any(|node| kinds.contains(&(**node).s_type)) {
                continue;
            }
            let mut bytes = vec![0u64; size.div_ceil(8)].into_boxed_slice();
            let made = bytes.as_mut_ptr().cast::<vk::BaseOutStructure<'static>>();
            (*made).s_type = kinds[1];
            (*made).p_next = first;
            if let Some(feature) = feature(made) {
                *feature = vk::TRUE;
            }
            first = made;
            own.push(bytes);
        }
        Ok(Chain { first: first.cast(), _own: own })
    }

    pub(super) fn first(&self) -> *const c_void {
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::chained;

    unsafe fn is_on(chain: &Chain) -> (bool, bool) {
        let mut found = (false, false);
        let mut at = chain.first().cast::<vk::BaseOutStructure<'static>>().cast_mut();
        while !at.is_null() {
            let on = feature(at).is_some_and(|at| *at == vk::TRUE);
            found.0 |= TIMELINE.contains(&(*at).s_type) && on;
            found.1 |= BARRIERS.contains(&(*at).s_type) && on;
            at = (*at).p_next;
        }
        found
    }

    #[test]
    fn features_are_switched_on_in_copies_and_others_stay() {
        let mut newer = vk::PhysicalDeviceVulkan12Features::default().shader_float16(true);
        let first = vk::PhysicalDeviceFeatures2::default().push_next(&mut newer);
        // SAFETY: a chain of structures that are there.
        unsafe {
            let chain = Chain::with_needed((&raw const first).cast()).expect("known structures");
            assert_eq!(is_on(&chain), (true, true));
            let copy = chained::<vk::PhysicalDeviceVulkan12Features<'_>>(
                chain.first(),
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
            );
            assert_eq!((*copy.expect("it is there")).shader_float16, vk::TRUE);
            assert_eq!(is_on(&Chain::with_needed(std::ptr::null()).expect("nothing")), (true, true));
        }
        assert_eq!(newer.timeline_semaphore, vk::FALSE);
    }

    #[test]
    fn a_chain_with_an_unknown_structure_stays_where_it_would_have_to_be_copied() {
        let mut newer = vk::PhysicalDeviceVulkan12Features::default();
        let mut unknown =
            vk::BaseOutStructure { s_type: vk::StructureType::from_raw(77), ..Default::default() };
        unknown.p_next = (&raw mut newer).cast();
        // SAFETY: a chain of structures that are there.
        unsafe {
            assert!(Chain::with_needed((&raw const unknown).cast()).is_err());
            let at = feature((&raw mut newer).cast()).expect("it has one");
            *at = vk::TRUE;
            let chain = Chain::with_needed((&raw const unknown).cast()).expect("nothing before it changes");
            assert_eq!(is_on(&chain), (true, true));
        }
    }
}
