//! Every module among the files of this repository, as it stands and in normal form.

use std::path::Path;

use rspirv::binary::Assemble as _;
use vkfuse_jit::kernel::{Kernel, Module};

use crate::damage::modules;
use crate::round_trip::Outcome;

fn check(folder: &str, refused: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut paths, mut raw, mut normal) = (Vec::new(), Outcome::default(), Outcome::default());
    modules(&root.join(folder), &mut paths);
    for path in paths {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let bytes = std::fs::read(&path).expect("a file");
        let module = match path.extension().is_some_and(|extension| extension == "wgsl") {
            true => std::str::from_utf8(&bytes).ok().and_then(|text| wgsl(&name, text)),
            false => Module::from_bytes(&name, &bytes).ok(),
        };
        // Some are there to be refused.
        let Some(module) = module else { continue };
        raw.check(&name, module.words());
        for entry in module.entry_points() {
            let kernel = Kernel::new(&module, Some(entry)).and_then(|kernel| kernel.specialize(&[]));
            if let Ok(kernel) = kernel
                && let Ok(form) = &kernel.normal
            {
                normal.check(&format!("{name} {entry}, normal form"), &form.module.assemble());
            }
        }
    }
    raw.finish(&format!("{folder}, as they stand"), refused);
    normal.finish(&format!("{folder}, normal forms"), 0);
}

#[cfg(feature = "wgsl")]
pub(crate) fn wgsl(name: &str, text: &str) -> Option<Module> {
    Module::from_wgsl(name, text).ok()
}

#[cfg(not(feature = "wgsl"))]
pub(crate) fn wgsl(_: &str, _: &str) -> Option<Module> {
    None
}

#[test]
fn shaders() {
    check("../shaders", 0);
}

#[test]
fn kernels_of_tests() {
    check("tests", 0);
}

#[test]
fn kernels_of_the_interpreter() {
    check("interp/tests", 0);
}
