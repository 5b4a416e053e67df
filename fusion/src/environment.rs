//! The one place that reads environment variables.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_DEVICE` | number of the device in the loader's order, or a part of its name |
//! | `VKFUSE_VALIDATION` | `1` switches the Khronos validation layer on |
//! | `VKFUSE_PROFILING` | `1` takes GPU times of every submission |
//! | `VKFUSE_DUMP_SPIRV` | folder to write the code of every kernel built or loaded to |
//! | `VKFUSE_SHAPE` | the shape of dispatches whose kernels do not care for it, instead of the one the device is known to like: `GROUP`, `GROUPxITEMS` or `GROUPxITEMSv` (work-group size, 0 for the users' own; items per invocation; `v` for vector accesses) |
//! | `VKFUSE_LOG` | read by the `vkfuse` command only: what to log |
//!
//! The persistent cache has variables of its own, which `vkfuse-cache` documents; they are handed to it from here.

use std::{env, ffi::OsString, path::PathBuf};

use crate::jit::ShapeFacts;

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

/// `VKFUSE_SHAPE`; what cannot be read counts as unset.
pub(crate) fn shape() -> Option<ShapeFacts> {
    parse_shape(variable("VKFUSE_SHAPE")?.to_str()?)
}

fn parse_shape(text: &str) -> Option<ShapeFacts> {
    let (text, vectors) = text.strip_suffix('v').map_or((text, false), |rest| (rest, true));
    let (group, items) = text.split_once('x').unwrap_or((text, "1"));
    let (group_size, items) = (group.parse().ok()?, items.parse().ok()?);
    Some(ShapeFacts { group_size, items, vectors })
}

/// `VKFUSE_DUMP_SPIRV`.
pub(crate) fn dump_spirv() -> Option<PathBuf> {
    variable("VKFUSE_DUMP_SPIRV").map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_shapes() {
        let shape = |group_size, items, vectors| Some(ShapeFacts { group_size, items, vectors });
        assert_eq!(parse_shape("64"), shape(64, 1, false));
        assert_eq!(parse_shape("0x8"), shape(0, 8, false));
        assert_eq!(parse_shape("256x4v"), shape(256, 4, true));
        assert_eq!(parse_shape("256x"), None);
        assert_eq!(parse_shape("wide"), None);
    }
}
