//! The one place that reads environment variables.
//!
//! [`variables`] has the table of them.
//! Those of the persistent cache are handed to `vkfuse-cache` from here. Variables
//! of drivers and layers that change what they make of code are read as well, for the keys of what a driver made.

pub(crate) mod variables;

use std::{collections::BTreeSet, env, ffi::OsString, path::PathBuf};

use parking_lot::Mutex;

use crate::{
    jit::Pass,
    options::{guard::CompileGuard, tuning::Tuning},
    vk::DeviceSelector,
};

/// The variable's value, unless it is unset or empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// A switch; what is neither on nor off counts as unset, with a warning.
fn switch(name: &str) -> Option<bool> {
    let value = variable(name)?;
    let read = value.to_str().and_then(on_or_off);
    if read.is_none() {
        warn_once(&format!("{name}={} is ignored: neither 0 nor 1", value.to_string_lossy()));
    }
    read
}

fn on_or_off(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "on" | "yes" | "true" => Some(true),
        "0" | "off" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// Warns of variables whose names are almost, and not quite, those of the table.
pub(crate) fn check_names() {
    for (name, _) in env::vars_os() {
        if let Some((name, meant)) = name.to_str().and_then(|name| Some((name, variables::misspelt(name)?))) {
            warn_once(&format!("there is no variable {name}; is {meant} meant?"));
        }
    }
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
    switch("VKFUSE_VALIDATION").unwrap_or(false)
}

/// `VKFUSE_VALIDATE`.
pub(crate) fn validate() -> bool {
    switch("VKFUSE_VALIDATE").unwrap_or(false)
}

/// `VKFUSE_AUTOTUNE`; on unless it says otherwise.
pub(crate) fn autotune() -> bool {
    switch("VKFUSE_AUTOTUNE").unwrap_or(true)
}

/// `VKFUSE_COMPILE_GUARD`.
pub(crate) fn compile_guard() -> CompileGuard {
    let Some(value) = variable("VKFUSE_COMPILE_GUARD") else { return CompileGuard::off() };
    let command = || {
        let name = format!("vkfuse{}", env::consts::EXE_SUFFIX);
        let beside = env::current_exe().ok().map(|own| own.with_file_name(&name));
        beside.filter(|command| command.is_file()).unwrap_or_else(|| PathBuf::from(name))
    };
    match value.to_str().map(on_or_off) {
        Some(Some(false)) => CompileGuard::off(),
        Some(Some(true)) => CompileGuard::program(command(), ["compile-guard"]),
        _ => CompileGuard::program(value, ["compile-guard"]),
    }
}

/// `VKFUSE_PROFILING`.
pub(crate) fn profiling() -> bool {
    switch("VKFUSE_PROFILING").unwrap_or(false)
}

/// `VKFUSE_SCHEDULE`; what cannot be read counts as unset, with a warning.
pub(crate) fn tuning() -> Tuning {
    let Some(value) = variable("VKFUSE_SCHEDULE") else { return Tuning::new() };
    let tuning: Tuning = value.to_string_lossy().parse().unwrap_or_else(|error| {
        warn_once(&format!("VKFUSE_SCHEDULE is ignored: {error}"));
        Tuning::new()
    });
    for problem in tuning.out_of_range() {
        warn_once(&format!("VKFUSE_SCHEDULE: {problem}"));
    }
    tuning
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
            (_, None) => {
                let names = Pass::ALL.iter().map(|pass| pass.name()).collect::<Vec<_>>().join(", ");
                warn_once(&format!("VKFUSE_PRINT_AFTER: there is no pass `{name}`; passes are {names}"));
            }
        }
    }
    passes
}

/// `VKFUSE_CACHE_VERIFY`.
pub(crate) fn verify() -> bool {
    switch("VKFUSE_CACHE_VERIFY").unwrap_or(false)
}

/// Logs a warning: the same words once in a process, however many contexts there are.
pub(crate) fn warn_once(words: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().insert(words.to_owned()) {
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
