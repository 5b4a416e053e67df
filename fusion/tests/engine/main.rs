//! The engine over a device: what is recorded, planned, fused, remembered and refused, a file for each subject.

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod access_patterns;
mod aliased_views;
mod around;
mod arrays;
mod autotuned;
mod background_builds;
mod bad_input;
mod base_groups;
mod by_value;
mod chain;
#[cfg(feature = "wgsl")]
mod cooperative_matrices;
mod element_types;
mod fusion_protocol;
mod given;
mod image_stencils;
mod images;
mod inlining;
mod input_forms;
mod kept_beside;
mod kept_lists;
mod kept_once;
mod kept_parts;
mod kernel_artifacts;
mod known_lists;
mod known_lists_differ;
mod library_chains;
mod library_kernels;
mod loop_limits;
mod memory_models;
mod no_groups;
#[cfg(feature = "wgsl")]
mod notes;
mod numbers;
mod order;
mod overlaps;
mod overruns;
mod padded_subgroups;
mod push_buffers;
mod real_forms;
mod rename;
mod requirements;
#[cfg(feature = "wgsl")]
mod robust;
mod seams;
mod shaders_load;
mod strided;
mod texels;
mod verified;
mod warm;
#[cfg(feature = "wgsl")]
mod warnings;
mod weaknesses;
