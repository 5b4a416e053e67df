//! Entries that come from elsewhere, before they are stored among those that are believed.

use vkfuse_cache::Entry;

use super::{
    kernels,
    programs::{self, SPIRV},
};
use crate::jit::{artifact_is_valid, module_is_valid};

/// Whether an entry of the persistent cache says that a module is valid, and nothing else. Its maker says so: where it comes from
/// elsewhere, the module is validated again.
pub fn is_approval(entry: &Entry) -> bool {
    entry.section(kernels::ACCEPTED).is_some() && !is_code(entry)
}

fn is_code(entry: &Entry) -> bool {
    entry.section(SPIRV).is_some() || entry.section(kernels::SECTION).is_some()
}

/// Whether an entry of the persistent cache holds code or normal forms of kernels, and nothing but modules that spirv-val accepts.
/// Takes about half a millisecond for each of them. It says that a driver can read them, not that they are what the
/// key asks for.
pub fn is_valid_entry(entry: &Entry) -> bool {
    let code = entry.section(SPIRV).is_some();
    let form = entry.section(kernels::SECTION);
    (code || form.is_some())
        && (!code || programs::spirv(entry).is_some_and(|words| module_is_valid(&words)))
        && form.is_none_or(artifact_is_valid)
}
