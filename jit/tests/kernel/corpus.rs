//! Access to the checked-in modules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vkfuse_jit::kernel::{Kernel, Module, NormalKernel, Specialized};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")
}

/// Bytes of `kernels/NAME.spv`.
pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let path = folder().join(format!("{name}.spv"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names of all modules, sorted.
pub(crate) fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the folder is checked in");
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.expect("readable").file_name().into_string().expect("ascii");
            name.strip_suffix(".spv").map(str::to_owned)
        })
        .collect();
    names.sort();
    names
}

pub(crate) fn module(name: &str) -> Module {
    Module::from_bytes(name, &bytes(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A module, if it is one that loads and has a compute entry point.
pub(crate) fn module_or_none(name: &str) -> Option<Module> {
    Module::from_bytes(name, &bytes(name)).ok().filter(|module| !module.entry_points().is_empty())
}

/// The only entry point of a module.
pub(crate) fn kernel(name: &str) -> Kernel {
    Kernel::new(&module(name), None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The same with all constants at their defaults.
pub(crate) fn specialized(name: &str) -> Arc<Specialized> {
    kernel(name).specialize(&[]).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Its normal form.
pub(crate) fn normal(name: &str) -> NormalKernel {
    let kernel = specialized(name);
    kernel.normal.clone().unwrap_or_else(|reason| panic!("{name} has no normal form: {reason}"))
}

/// Runs spirv-val in the environment that the crate uses.
pub(crate) fn assert_valid(what: &str, words: &[u32]) {
    if let Err(error) = validate(words) {
        fail(what, &error, words);
    }
}

/// The same, except for the rule that the crate makes an exception of when it cannot put a module right.
pub(crate) fn assert_acceptable(what: &str, words: &[u32]) {
    match validate(words) {
        Err(error) if !error.contains("VUID-StandaloneSpirv-None-10684") => fail(what, &error, words),
        _ => {}
    }
}

fn validate(words: &[u32]) -> Result<(), String> {
    use spirv_tools::val::{Validator, ValidatorOptions};
    let options = ValidatorOptions { scalar_block_layout: true, ..ValidatorOptions::default() };
    let validator = spirv_tools::val::create(Some(spirv_tools::TargetEnv::Vulkan_1_3));
    validator.validate(words, Some(options)).map_err(|error| error.to_string())
}

fn fail(what: &str, error: &str, words: &[u32]) {
    use rspirv::binary::Disassemble;
    let text = rspirv::dr::load_words(words).map_or_else(|e| e.to_string(), |m| m.disassemble());
    panic!("{what}: {error}\n{text}");
}
