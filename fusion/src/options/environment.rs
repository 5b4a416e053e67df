//! The one place that reads environment variables.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_DEVICE` | number of the device in the loader's order, or a part of its name |
//! | `VKFUSE_VALIDATION` | `1` switches the Khronos validation layer on |
//! | `VKFUSE_PROFILING` | `1` takes GPU times of every submission |
//! | `VKFUSE_DUMP_SPIRV` | folder to write the code of every kernel built or loaded to |
//! | `VKFUSE_PRINT_AFTER` | passes of the JIT's front end after which each module is printed to standard error, as text: their names with commas between, or `all`. Kernels that a cache has pass through none |
//! | `VKFUSE_SCHEDULE` | parameters of the schedules that the planner chooses, instead of those known to be best for the device: a [`Tuning`](crate::Tuning) as text, such as `items=4 vectors=on unroll=64` |
//! | `VKFUSE_CACHE_VERIFY` | `1` builds what the persistent cache has all the same, and compares |
//! | `VKFUSE_VALIDATE` | `1` runs what is fused in an interpreter first, on small instances of the list, and compares it with the unfused list: [`ContextOptions::validate_code`](crate::ContextOptions::validate_code) |
//! | `VKFUSE_AUTOTUNE` | `0` measures no lists, also where the planner does not know how they are fastest: [`ContextOptions::autotune`](crate::ContextOptions::autotune) |
//! | `VKFUSE_COMPILE_GUARD` | `1` has new code compiled in a child process first, by the `vkfuse` command that lies beside the running program or in the `PATH`; or the path of such a command: [`ContextOptions::compile_guard`](crate::ContextOptions::compile_guard). The `vkfuse` command itself does so unless it is `0` |
//! | `VKFUSE_CACHE_RECORD` | file to which every list that is fused is written, for `vkfuse cache warm` |
//! | `VKFUSE_LOG` | read by the `vkfuse` command only: what to log |
//!
//! The persistent cache has variables of its own, which `vkfuse-cache` documents; they are handed to it from here. Variables
//! of drivers and layers that change what they make of code are read as well, for the keys of what a driver made.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use crate::{
    jit::Pass,
    options::{guard::CompileGuard, tuning::Tuning},
    vk::DeviceSelector,
};

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

/// `VKFUSE_VALIDATE`.
pub(crate) fn validate() -> bool {
    flag("VKFUSE_VALIDATE")
}

/// `VKFUSE_AUTOTUNE`; on unless it says otherwise.
pub(crate) fn autotune() -> bool {
    variable("VKFUSE_AUTOTUNE").is_none() || flag("VKFUSE_AUTOTUNE")
}

/// `VKFUSE_COMPILE_GUARD`.
pub(crate) fn compile_guard() -> CompileGuard {
    let Some(value) = variable("VKFUSE_COMPILE_GUARD") else { return CompileGuard::off() };
    let command = || {
        let name = format!("vkfuse{}", env::consts::EXE_SUFFIX);
        let beside = env::current_exe().ok().map(|own| own.with_file_name(&name));
        beside.filter(|command| command.is_file()).unwrap_or_else(|| PathBuf::from(name))
    };
    match value.to_str() {
        Some("0" | "no" | "off" | "false") => CompileGuard::off(),
        Some("1" | "yes" | "on" | "true") => CompileGuard::program(command(), ["compile-guard"]),
        _ => CompileGuard::program(value, ["compile-guard"]),
    }
}

/// `VKFUSE_PROFILING`.
pub(crate) fn profiling() -> bool {
    flag("VKFUSE_PROFILING")
}

/// `VKFUSE_SCHEDULE`; what cannot be read counts as unset, with a warning.
pub(crate) fn tuning() -> Tuning {
    let Some(value) = variable("VKFUSE_SCHEDULE") else { return Tuning::new() };
    value.to_string_lossy().parse().unwrap_or_else(|error| {
        tracing::warn!("VKFUSE_SCHEDULE is left aside: {error}");
        Tuning::new()
    })
}

/// `VKFUSE_DUMP_SPIRV`.
pub(crate) fn dump_spirv() -> Option<PathBuf> {
    variable("VKFUSE_DUMP_SPIRV").map(PathBuf::from)
}

/// `VKFUSE_PRINT_AFTER`; names that no pass has are left aside, with a warning.
pub(crate) fn print_after() -> Vec<Pass> {
    let Some(value) = variable("VKFUSE_PRINT_AFTER") else { return Vec::new() };
    parse_passes(&value.to_string_lossy())
}

fn parse_passes(text: &str) -> Vec<Pass> {
    let named = |name: &str| Pass::ALL.iter().copied().find(|pass| pass.name() == name);
    let mut passes = Vec::new();
    for name in text.split(',').map(str::trim) {
        match (name, named(name)) {
            ("all", _) => passes.extend(Pass::ALL),
            (_, Some(pass)) => passes.push(pass),
            (_, None) => tracing::warn!(name, "VKFUSE_PRINT_AFTER names no pass: it is left aside"),
        }
    }
    passes
}

/// `VKFUSE_CACHE_VERIFY`; what is neither `0` nor `1` counts as unset, with a warning.
pub(crate) fn verify() -> bool {
    let Some(value) = variable("VKFUSE_CACHE_VERIFY") else { return false };
    match value.to_str().map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        Some("1" | "true" | "yes" | "on") => true,
        Some("0" | "false" | "no" | "off") => false,
        _ => {
            warn_once(&format!("VKFUSE_CACHE_VERIFY={value:?} is left out: neither 0 nor 1"));
            false
        }
    }
}

/// Logs a warning: the same words once in a process, however many contexts there are.
pub(crate) fn warn_once(words: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(words.to_owned()) {
        tracing::warn!("{words}");
    }
}

/// `VKFUSE_CACHE_RECORD`.
pub(crate) fn record() -> Option<PathBuf> {
    variable("VKFUSE_CACHE_RECORD").map(PathBuf::from)
}

/// Beginnings of the names of variables that drivers and layers read.
const SWITCHES: &[&str] = &[
    // Mesa: all drivers, then one by one.
    "MESA_",
    "NIR_",
    "ACO_",
    "RADV_",
    "AMD_",
    "ANV_",
    "INTEL_",
    "NVK_",
    "NAK_",
    "GALLIVM_",
    "LP_",
    "DRAW_",
    "TU_",
    "IR3_",
    "FD_",
    "PAN_",
    "PANVK_",
    "V3D",
    "VN_",
    "DZN_",
    "HK_",
    "AGX_",
    // NVIDIA, AMD's own driver, MoltenVK.
    "__GL_",
    "AMDVLK_",
    "MVK_CONFIG_",
    // Layers, which may change modules on their way to the driver.
    "VK_INSTANCE_LAYERS",
    "VK_LOADER_LAYERS_",
    "VK_LAYER_ENABLES",
    "VK_LAYER_DISABLES",
    "VK_KHRONOS_VALIDATION_",
    "VK_VALIDATION_",
];

/// Beginnings of those among them that change no code: where caches and logs are, how many threads compile, which device.
const HARMLESS: &[&str] = &[
    "MESA_SHADER_CACHE_",
    "MESA_GLSL_CACHE_",
    "MESA_DISK_CACHE_",
    "MESA_LOG",
    "MESA_VK_DEVICE_SELECT",
    "LP_NUM_THREADS",
    "__GL_SHADER_DISK_CACHE",
    "MVK_CONFIG_LOG_LEVEL",
];

/// The variables of drivers and layers that change what they make of code, with their values, by name. One that is set to
/// nothing is as one that is not set.
pub(crate) fn driver_switches() -> Vec<(String, String)> {
    switches(env::vars_os())
}

fn switches(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<(String, String)> {
    let is_one_of = |name: &str, list: &[&str]| list.iter().any(|start| name.starts_with(start));
    let mut found: Vec<(String, String)> = variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, value)| !value.is_empty() && is_one_of(name, SWITCHES) && !is_one_of(name, HARMLESS))
        // Bytes that are no text are kept apart by their escapes.
        .map(|(name, value)| (name, value.to_str().map_or_else(|| format!("{value:?}"), str::to_owned)))
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_of_passes() {
        assert_eq!(parse_passes("normal, dce"), [Pass::Normal, Pass::Dce]);
        assert_eq!(parse_passes("normals,dce"), [Pass::Dce]);
        assert_eq!(parse_passes("all"), Pass::ALL);
    }

    #[test]
    fn switches_of_drivers_and_layers_are_found() {
        let set = [
            ("RADV_DEBUG", "nocache"),
            ("PATH", "/bin"),
            ("MESA_SHADER_CACHE_DIR", "/x"),
            ("LP_NATIVE_VECTOR_WIDTH", "128"),
            ("VK_INSTANCE_LAYERS", "VK_LAYER_a"),
            ("ACO_DEBUG", ""),
            ("HOME", "/root"),
        ];
        let found = switches(set.iter().map(|(name, value)| (name.into(), value.into())));
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["LP_NATIVE_VECTOR_WIDTH", "RADV_DEBUG", "VK_INSTANCE_LAYERS"]);
        assert_eq!(found[0].1, "128");
    }
}
