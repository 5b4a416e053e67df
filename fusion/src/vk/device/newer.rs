//! Features that vulkano has no name for, or one name for those of several extensions.
//!
//! vulkano 0.35 knows Vulkan 1.3.281. Everything later is a structure of flags in the chain of `VkDeviceCreateInfo`, here by its tag
//! and the names of its flags.

use std::ffi::c_void;

use ash::vk;
use vulkano::device::{Device, physical::PhysicalDevice};

/// Most flags of a structure.
const MOST: usize = 8;

/// The feature structure of an extension.
#[derive(Debug)]
pub(in crate::vk) struct Structure {
    pub(in crate::vk) extension: &'static str,
    /// The value of `VkStructureType`.
    pub(in crate::vk) tag: i32,
    /// Its flags, in order.
    pub(in crate::vk) features: &'static [&'static str],
}

pub(in crate::vk) const COOPERATIVE_MATRIX: &str = "VK_KHR_cooperative_matrix";
pub(in crate::vk) const COOPERATIVE_MATRIX_NV: &str = "VK_NV_cooperative_matrix";
const COOPERATIVE_FEATURES: &[&str] = &["cooperativeMatrix", "cooperativeMatrixRobustBufferAccess"];
const DERIVATIVE_FEATURES: &[&str] = &["computeDerivativeGroupQuads", "computeDerivativeGroupLinear"];

/// All of them. Of two with one tag, the first that a device has is used.
pub(in crate::vk) const STRUCTURES: &[Structure] = &[
    Structure { extension: COOPERATIVE_MATRIX, tag: 1_000_506_000, features: COOPERATIVE_FEATURES },
    Structure { extension: COOPERATIVE_MATRIX_NV, tag: 1_000_249_000, features: COOPERATIVE_FEATURES },
    Structure {
        extension: "VK_NV_cooperative_matrix2",
        tag: 1_000_593_000,
        features: &[
            "cooperativeMatrixWorkgroupScope",
            "cooperativeMatrixFlexibleDimensions",
            "cooperativeMatrixReductions",
            "cooperativeMatrixConversions",
            "cooperativeMatrixPerElementOperations",
            "cooperativeMatrixTensorAddressing",
            "cooperativeMatrixBlockLoads",
        ],
    },
    Structure {
        extension: "VK_NV_cooperative_vector",
        tag: 1_000_491_000,
        features: &["cooperativeVector", "cooperativeVectorTraining"],
    },
    Structure {
        extension: "VK_KHR_shader_bfloat16",
        tag: 1_000_141_000,
        features: &["shaderBFloat16Type", "shaderBFloat16DotProduct", "shaderBFloat16CooperativeMatrix"],
    },
    Structure {
        extension: "VK_EXT_shader_float8",
        tag: 1_000_567_000,
        features: &["shaderFloat8", "shaderFloat8CooperativeMatrix"],
    },
    Structure {
        extension: "VK_EXT_shader_replicated_composites",
        tag: 1_000_564_000,
        features: &["shaderReplicatedComposites"],
    },
    Structure {
        extension: "VK_KHR_shader_untyped_pointers",
        tag: 1_000_387_000,
        features: &["shaderUntypedPointers"],
    },
    Structure {
        extension: "VK_KHR_shader_relaxed_extended_instruction",
        tag: 1_000_558_000,
        features: &["shaderRelaxedExtendedInstruction"],
    },
    Structure {
        extension: "VK_KHR_shader_fma",
        tag: 1_000_579_000,
        features: &["shaderFmaFloat16", "shaderFmaFloat32", "shaderFmaFloat64"],
    },
    Structure {
        extension: "VK_KHR_compute_shader_derivatives",
        tag: 1_000_201_000,
        features: DERIVATIVE_FEATURES,
    },
    Structure {
        extension: "VK_NV_compute_shader_derivatives",
        tag: 1_000_201_000,
        features: DERIVATIVE_FEATURES,
    },
];

/// A structure as Vulkan has it: no feature structure of the table is larger.
#[repr(C)]
pub(in crate::vk) struct Flags {
    tag: vk::StructureType,
    next: *mut c_void,
    flags: [vk::Bool32; MOST],
}

impl Flags {
    pub(in crate::vk) fn of(structure: &Structure) -> Flags {
        let (tag, next) = (vk::StructureType::from_raw(structure.tag), std::ptr::null_mut());
        Flags { tag, next, flags: [vk::FALSE; MOST] }
    }
}

/// Features of the table, by extension and name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewerFeatures(Vec<(&'static str, &'static str)>);

impl NewerFeatures {
    /// Whether one is there.
    pub(in crate::vk) fn has(&self, extension: &str, feature: &str) -> bool {
        self.0.contains(&(extension, feature))
    }

    /// Whether one is there by whatever extension.
    pub(in crate::vk) fn any(&self, feature: &str) -> bool {
        self.0.iter().any(|(_, name)| *name == feature)
    }

    /// Whether any of an extension is there.
    pub(in crate::vk) fn any_of(&self, extension: &str) -> bool {
        self.0.iter().any(|(of, _)| *of == extension)
    }

    /// What vulkano says of a device that was made with it.
    pub(in crate::vk) fn of_vulkano(device: &Device) -> NewerFeatures {
        let (features, extensions) = (device.enabled_features(), device.enabled_extensions());
        let mut found = NewerFeatures::default();
        for (is_on, extension) in [
            (extensions.khr_cooperative_matrix, COOPERATIVE_MATRIX),
            (extensions.nv_cooperative_matrix, COOPERATIVE_MATRIX_NV),
        ] {
            found
                .0
                .extend((is_on && features.cooperative_matrix).then_some((extension, "cooperativeMatrix")));
        }
        let derivatives = [features.compute_derivative_group_quads, features.compute_derivative_group_linear];
        for (is_on, name) in derivatives.into_iter().zip(DERIVATIVE_FEATURES) {
            found.0.extend(is_on.then_some(("VK_NV_compute_shader_derivatives", *name)));
        }
        found
    }

    /// Adds what a structure of a chain says, if it is one of the table and its extension is among these.
    ///
    /// # Safety
    ///
    /// The pointer can be followed, and the structure is of the type that it says.
    pub(in crate::vk) unsafe fn read(
        &mut self,
        node: *const vk::BaseInStructure<'_>,
        has: impl Fn(&'static str) -> bool,
    ) {
        // SAFETY: the caller's promise.
        let tag = unsafe { (*node).s_type }.as_raw();
        let Some(structure) = STRUCTURES.iter().find(|one| one.tag == tag && has(one.extension)) else {
            return;
        };
        for (number, name) in structure.features.iter().enumerate() {
            let at = std::mem::offset_of!(Flags, flags) + number * size_of::<vk::Bool32>();
            // SAFETY: a structure with this tag has this many flags, one after the other behind its head.
            let flag = unsafe { node.byte_add(at).cast::<vk::Bool32>().read() };
            self.0.extend((flag == vk::TRUE).then_some((structure.extension, *name)));
        }
    }
}

/// The structures of the table that a device can be asked about, one of each tag.
pub(in crate::vk) fn known_to(device: &PhysicalDevice) -> Vec<&'static Structure> {
    let has = |name: &str| device.extension_properties().iter().any(|one| one.extension_name == name);
    let mut known: Vec<&Structure> = Vec::new();
    for structure in STRUCTURES.iter().filter(|one| has(one.extension)) {
        if known.iter().all(|other| other.tag != structure.tag) {
            known.push(structure);
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_room_and_names_of_their_own() {
        for (number, one) in STRUCTURES.iter().enumerate() {
            assert!((1..=MOST).contains(&one.features.len()), "{}", one.extension);
            assert!(STRUCTURES[..number].iter().all(|other| other.extension != one.extension));
        }
    }

    #[test]
    fn flags_are_read_by_their_place() {
        let structure = STRUCTURES.iter().find(|one| one.features.len() == 7).expect("one has seven");
        for (number, name) in structure.features.iter().enumerate() {
            let mut flags = Flags::of(structure);
            flags.flags[number] = vk::TRUE;
            let mut found = NewerFeatures::default();
            // SAFETY: the structure lives, and is of its type.
            unsafe { found.read(std::ptr::from_ref(&flags).cast(), |_| true) };
            assert_eq!(found, NewerFeatures(vec![(structure.extension, *name)]));
            assert!(found.has(structure.extension, name) && !found.has("VK_KHR_other", name));
        }
    }
}
