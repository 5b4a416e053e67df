//! The one place that reads environment variables.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_DEVICE` | number of the device in the loader's order, or a part of its name |
//! | `VKFUSE_VALIDATION` | `1` switches the Khronos validation layer on |
//! | `VKFUSE_PROFILING` | `1` takes GPU times of every submission |
//! | `VKFUSE_DUMP_SPIRV` | folder to write the code of every kernel built or loaded to |
//! | `VKFUSE_LOG` | read by the `vkfuse` command only: what to log |
//!
//! The persistent cache has variables of its own, which `vkfuse-cache` documents; they are handed to it from here.

use std::{env, ffi::OsString, path::PathBuf};

use crate::vk::DeviceSelector;

/// The variable's value, unless it is unset or empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn flag(name: &str) -> bool {
    variable(name).is_some_and(|value| !matches!(value.to_str(), Some("0" | "no" | "off" | "false")))
}

/// `VKFUSE_DEVICE`.
pub(crate) fn device() -> DeviceSelector {
    match variable("VKFUSE_DEVICE").map(|value| value.to_string_lossy().into_owned()) {
        None => DeviceSelector::Default,
        Some(text) => text.parse().map_or_else(|_| DeviceSelector::Name(text), DeviceSelector::Index),
    }
}

/// `VKFUSE_VALIDATION`.
pub(crate) fn validation() -> bool {
    flag("VKFUSE_VALIDATION")
}

/// `VKFUSE_PROFILING`.
pub(crate) fn profiling() -> bool {
    flag("VKFUSE_PROFILING")
}

/// `VKFUSE_DUMP_SPIRV`.
pub(crate) fn dump_spirv() -> Option<PathBuf> {
    variable("VKFUSE_DUMP_SPIRV").map(PathBuf::from)
}
