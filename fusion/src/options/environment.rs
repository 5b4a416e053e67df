//! The one place that reads environment variables.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_DEVICE` | number of the device in the loader's order, or a part of its name |
//! | `VKFUSE_VALIDATION` | `1` switches the Khronos validation layer on |
//! | `VKFUSE_PROFILING` | `1` takes GPU times of every submission |
//! | `VKFUSE_DUMP_SPIRV` | folder to write the code of every kernel built or loaded to |
//! | `VKFUSE_PRINT_AFTER` | passes of the JIT's front end after which each module is printed to standard error, as text: their names with commas between, or `all`. Kernels that a cache has pass through none |
//! | `VKFUSE_SHAPE` | the shape of dispatches whose kernels do not care for it, instead of the one the device is known to like: `GROUP`, `GROUPxITEMS`, `GROUPxITEMSv` or `GROUPxITEMSvROUNDS` (work-group size, 0 for the users' own; items per invocation; `v` for vector accesses; how many vectors one after another where the last one is not whole), each with `,ITEMS` behind it for the items of a work-group that an invocation does in lockstep |
//! | `VKFUSE_INTERLEAVE` | how many work-groups of a fused kernel with barriers one work-group does side by side, instead of what is known to be best for the device: `GROUPS` or `GROUPSxLEAST` (how many work-groups are to be left of a dispatch, 1 if it is not said) |
//! | `VKFUSE_NARROW` | how many invocations are left of a work-group of a fused kernel with barriers, each of which does several, instead of what is known to be best for the device: `INVOCATIONS` (0: it keeps its own), where all loops are written out, or `INVOCATIONSxBYTES`, with any loops (most bytes of private variables of all that one does) |
//! | `VKFUSE_KEEP` | most bytes of elements that an invocation of a fused kernel keeps in registers once it has loaded them, instead of what is known to be best for the device |
//! | `VKFUSE_UNROLL` | which loops of a fused kernel are written out, instead of what is known to be best for the device: `ROUNDS` or `ROUNDSxAT_ONCE` (most rounds of a loop that is written out as a whole; rounds of a longer one that stand one after another, 1 if it is not said) |
//! | `VKFUSE_LATE_STORES` | how many stores at a time wait for loads behind them, where the driver would keep these in order, instead of what is known to be best for the device; `0`: none |
//! | `VKFUSE_SUBGROUPS` | `1` makes barriers of work-groups a sub-group's where that is enough, `0` leaves them, instead of what is known to be best for the device: those of work-groups of which one sub-group is left, on NVIDIA's |
//! | `VKFUSE_PACKED` | how many work-groups of which one sub-group is left are one, instead of what is known to be best for the device; `0`: each is one |
//! | `VKFUSE_SHUFFLES` | `1` keeps shared memory of work-groups of which one sub-group is left in registers, `0` does not, instead of what is known to be best for the device |
//! | `VKFUSE_PUSH` | most bytes of push constants that a fused kernel has, if that is less than the device's limit; what does not fit is in a uniform buffer |
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
    jit::{InterleaveFacts, LoopFacts, NarrowFacts, Pass, ShapeFacts},
    options::guard::CompileGuard,
    vk::{DeviceSelector, NARROW_BYTES, PRIVATE_BYTES},
};

/// The variable's value, unless it is unset or empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// What a variable says; what cannot be read counts as unset, with a warning that says what it should be.
fn read<T>(name: &str, form: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    let value = variable(name)?;
    let said = value.to_str().and_then(parse);
    if said.is_none() {
        tracing::warn!(?value, "{name} is not {form}: it is left aside");
    }
    said
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

/// `VKFUSE_SHAPE`; what cannot be read counts as unset, with a warning.
pub(crate) fn shape() -> Option<ShapeFacts> {
    let form = "GROUP, GROUPxITEMS, GROUPxITEMSv or GROUPxITEMSvROUNDS, with or without `,ITEMS`";
    read("VKFUSE_SHAPE", form, parse_shape)
}

fn parse_shape(text: &str) -> Option<ShapeFacts> {
    let (text, lockstep) = match text.split_once(',') {
        None => (text, 1),
        Some((rest, items)) => (rest, items.parse().ok()?),
    };
    let (text, rounds) = match text.split_once('v') {
        None => (text, None),
        Some((rest, "")) => (rest, Some(1)),
        Some((rest, rounds)) => (rest, Some(rounds.parse().ok()?)),
    };
    let (group, items) = text.split_once('x').unwrap_or((text, "1"));
    let (group_size, items) = (group.parse().ok()?, items.parse().ok().filter(|&items: &u32| items > 0)?);
    Some(ShapeFacts {
        group_size,
        items,
        vectors: rounds.is_some(),
        rounds: rounds.unwrap_or(1),
        least: 1,
        lockstep,
        lanes: 1,
    })
}

/// `VKFUSE_INTERLEAVE`; what cannot be read counts as unset, with a warning.
pub(crate) fn interleave() -> Option<InterleaveFacts> {
    read("VKFUSE_INTERLEAVE", "GROUPS or GROUPSxLEAST", parse_interleave)
}

fn parse_interleave(text: &str) -> Option<InterleaveFacts> {
    let (work_groups, least) = most_and_least(text)?;
    Some(InterleaveFacts { work_groups, least, private_bytes: PRIVATE_BYTES, shared_bytes: 0 })
}

/// `VKFUSE_NARROW`; what cannot be read counts as unset, with a warning.
pub(crate) fn narrow() -> Option<NarrowFacts> {
    read("VKFUSE_NARROW", "INVOCATIONS or INVOCATIONSxBYTES", parse_narrow)
}

fn parse_narrow(text: &str) -> Option<NarrowFacts> {
    let (invocations, bytes) = match text.split_once('x') {
        None => (text, None),
        Some((invocations, bytes)) => (invocations, Some(bytes.parse().ok()?)),
    };
    Some(NarrowFacts {
        invocations: invocations.parse().ok()?,
        least: 1,
        private_bytes: bytes.unwrap_or(NARROW_BYTES),
        any_loops: bytes.is_some(),
        ..NarrowFacts::default()
    })
}

/// `VKFUSE_UNROLL`; what cannot be read counts as unset, with a warning.
pub(crate) fn loops() -> Option<LoopFacts> {
    let (rounds, at_once) = read("VKFUSE_UNROLL", "ROUNDS or ROUNDSxAT_ONCE", most_and_least)?;
    Some(LoopFacts { rounds, at_once, private_bytes: 4 * rounds.max(64) })
}

/// `VKFUSE_KEEP`; what cannot be read counts as unset, with a warning.
pub(crate) fn kept_bytes() -> Option<u32> {
    read("VKFUSE_KEEP", "a number of bytes", |text| text.parse().ok())
}

/// `VKFUSE_LATE_STORES`; what cannot be read counts as unset, with a warning.
pub(crate) fn late_stores() -> Option<u32> {
    read("VKFUSE_LATE_STORES", "a number of stores", |text| text.parse().ok())
}

/// `VKFUSE_SUBGROUPS`; what is neither `0` nor `1` counts as unset, with a warning.
pub(crate) fn subgroups() -> Option<bool> {
    read("VKFUSE_SUBGROUPS", "0 or 1", on_or_off)
}

/// `VKFUSE_PACKED`; what cannot be read counts as unset, with a warning.
pub(crate) fn packed() -> Option<u32> {
    read("VKFUSE_PACKED", "a number of work-groups", |text| text.parse().ok())
}

/// `VKFUSE_SHUFFLES`; what is neither `0` nor `1` counts as unset, with a warning.
pub(crate) fn shuffles() -> Option<bool> {
    read("VKFUSE_SHUFFLES", "0 or 1", on_or_off)
}

fn on_or_off(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// `VKFUSE_PUSH`; what cannot be read counts as unset, with a warning.
pub(crate) fn push_bytes() -> Option<u32> {
    read("VKFUSE_PUSH", "a number of bytes", |text| text.parse().ok())
}

/// `MOST` or `MOSTxLEAST`.
fn most_and_least(text: &str) -> Option<(u32, u32)> {
    let (most, least) = text.split_once('x').unwrap_or((text, "1"));
    Some((most.parse().ok()?, least.parse().ok()?))
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
    fn reads_shapes() {
        let shape = |group_size, items, vectors| {
            Some(ShapeFacts { group_size, items, vectors, rounds: 1, least: 1, lockstep: 1, lanes: 1 })
        };
        assert_eq!(parse_shape("64"), shape(64, 1, false));
        assert_eq!(parse_shape("0x8"), shape(0, 8, false));
        assert_eq!(parse_shape("256x4v"), shape(256, 4, true));
        assert_eq!(parse_shape("0x4v4").map(|shape| (shape.vectors, shape.rounds)), Some((true, 4)));
        let lockstep = |text| parse_shape(text).map(|shape| (shape.items, shape.lockstep));
        assert_eq!(lockstep("0x2,4"), Some((2, 4)));
        assert_eq!(lockstep("256x4v,"), None);
        assert_eq!(parse_shape("0x4vx"), None);
        assert_eq!(parse_shape("256x"), None);
        assert_eq!(parse_shape("64x0"), None);
        assert_eq!(parse_shape("wide"), None);
    }

    #[test]
    fn reads_work_groups_side_by_side() {
        let facts = |work_groups, least| {
            Some(InterleaveFacts { work_groups, least, private_bytes: PRIVATE_BYTES, shared_bytes: 0 })
        };
        assert_eq!(parse_interleave("4"), facts(4, 1));
        assert_eq!(parse_interleave("2x500"), facts(2, 500));
        assert_eq!(parse_interleave("2x"), None);
        assert_eq!(parse_interleave("two"), None);
        let facts = |invocations, private_bytes, any_loops| {
            Some(NarrowFacts { invocations, least: 1, private_bytes, any_loops, ..NarrowFacts::default() })
        };
        assert_eq!(parse_narrow("32"), facts(32, NARROW_BYTES, false));
        assert_eq!(parse_narrow("16x64"), facts(16, 64, true));
        assert_eq!(parse_narrow("16x"), None);
        assert_eq!(parse_narrow("few"), None);
    }

    #[test]
    fn reads_names_of_passes() {
        assert_eq!(parse_passes("sroa, dce"), [Pass::Sroa, Pass::Dce]);
        assert_eq!(parse_passes("sroas,inline"), [Pass::Inline]);
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
