//! Every checked-in kernel loads, can be specialised, and can be fused unless it is one that is known not to.

use std::path::{Path, PathBuf};

use vkfuse_jit::kernel::{Kernel, Module, SpecValue};

/// Kernels that have no normal form, by the beginnings of their names, and a word of the reason.
const NOT_FUSABLE: &[(&str, &str)] =
    &[("texels/", "texel buffer"), ("arrays/", "array of descriptors"), ("forms/clock", "ShaderClockKHR")];

/// What kernels need for a specialization constant, whose default is no valid value.
const GIVEN: &[(&str, u32, u32)] = &[("reduced/lengths", 3, 64)];

#[test]
fn every_checked_in_kernel_loads() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(files.len() > 90, "only {} files in {}", files.len(), root.display());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let module = match Module::from_bytes(&name, &std::fs::read(&path).unwrap()) {
            Ok(module) => module,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        assert!(!module.entry_points().is_empty(), "{name} has no entry point");
        for entry in module.entry_points() {
            let kernel = Kernel::new(&module, Some(entry)).unwrap();
            let given = GIVEN.iter().filter(|(start, ..)| name.starts_with(start));
            let given: Vec<_> = given.map(|&(_, id, value)| (id, SpecValue::U32(value))).collect();
            let specialized = match kernel.specialize(&given) {
                Ok(specialized) => specialized,
                Err(error) => {
                    wrong.push(format!("{name}, {entry}: {error}"));
                    continue;
                }
            };
            let expected = NOT_FUSABLE.iter().find(|(start, _)| name.starts_with(start));
            match (&specialized.normal, expected) {
                (Ok(_), None) => {}
                (Ok(_), Some(_)) => {
                    wrong.push(format!("{name}, {entry}: can be fused, which is not expected"))
                }
                (Err(reason), Some((_, word))) => {
                    if !reason.to_string().contains(word) {
                        wrong.push(format!("{name}, {entry}: {reason} does not speak of {word}"));
                    }
                }
                (Err(reason), None) => wrong.push(format!("{name}, {entry}: cannot be fused: {reason}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All compiled kernels below a folder, sorted.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "spv") {
            files.push(path);
        }
    }
}
