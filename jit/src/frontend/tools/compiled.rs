//! The spirv-val that is compiled into this crate.

use spirv_tools::TargetEnv;
use spirv_tools::val::{Validator, ValidatorOptions};

use super::{Complaint, Rules};

pub(super) fn is_there() -> bool {
    true
}

/// In the version that the manifest pins.
pub(super) fn name() -> Option<String> {
    Some("spirv-tools 0.13.3, spirv-tools-sys 0.13.3".to_owned())
}

pub(super) fn check(rules: Rules, words: &[u32]) -> Result<(), Complaint> {
    let env = match rules {
        Rules::Vulkan => TargetEnv::Vulkan_1_3,
        Rules::Universal => TargetEnv::Universal_1_6,
    };
    let options = ValidatorOptions {
        relax_block_layout: Some(true),
        uniform_buffer_standard_layout: true,
        scalar_block_layout: true,
        ..ValidatorOptions::default()
    };
    let result = spirv_tools::val::create(Some(env)).validate(words, Some(options));
    result.map_err(|error| match error.diagnostic {
        Some(diagnostic) => Complaint::new(diagnostic.index, diagnostic.message),
        None => Complaint::new(0, error.inner.to_string()),
    })
}
