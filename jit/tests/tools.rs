//! How often the tools run. Alone in its process, because that is what is counted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use vkfuse_jit::kernel::{Accepted, ArtifactStore, Kernel, Origin, artifact_tools, tool_runs};

#[derive(Debug, Default)]
struct Shelf(Mutex<HashMap<String, Vec<u8>>>);

impl ArtifactStore for Shelf {
    fn find(&self, origin: &Origin<'_>) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(&format!("{origin:?}")).cloned()
    }

    fn keep(&self, origin: &Origin<'_>, artifact: &[u8]) {
        self.0.lock().unwrap().insert(format!("{origin:?}"), artifact.to_vec());
    }

    fn is_accepted(&self, accepted: &Accepted) -> bool {
        self.0.lock().unwrap().contains_key(&format!("{accepted:?}"))
    }

    fn accept(&self, accepted: &Accepted) {
        self.0.lock().unwrap().insert(format!("{accepted:?}"), Vec::new());
    }
}

#[test]
fn a_kept_kernel_costs_no_run_of_the_tools() {
    let shelf = Arc::new(Shelf::default());
    let load = |name: &str| {
        let before = tool_runs();
        let path = format!("{}/tests/kernels/{name}.spv", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(path).unwrap();
        let kernel = Kernel::from_bytes(name, &bytes, Some(shelf.clone())).unwrap();
        kernel.specialize(&[]).unwrap();
        tool_runs() - before
    };
    for name in ["chain", "spec", "shared", "hlsl", "image"] {
        assert!(load(name) >= 1, "{name}");
        assert_eq!(load(name), 0, "{name}");
    }
}

/// The installed tool is named as it names itself.
#[cfg(not(feature = "compiled-spirv-tools"))]
#[test]
fn the_tool_is_the_installed_one() {
    let tools = artifact_tools().expect("the tools' version");
    assert!(tools.starts_with("spirv-val SPIRV-Tools v"), "{tools}");
}

/// The version in the identity is the one that is built.
#[cfg(feature = "compiled-spirv-tools")]
#[test]
fn the_tools_are_the_pinned_ones() {
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")).unwrap();
    for name in ["spirv-tools", "spirv-tools-sys"] {
        let line = manifest.lines().find(|line| line.starts_with(&format!("{name} = "))).expect("pinned");
        let version = line.split('=').nth(3).and_then(|rest| rest.split('"').next()).expect("a version");
        let tools = artifact_tools().expect("the tools' version");
        assert!(tools.contains(&format!("{name} {version},")), "{tools}: not {name} {version}");
    }
}

/// A failed assertion of the C++ would end the process of whoever loads a kernel. Where this fails, `CXXFLAGS` is without
/// `-DNDEBUG`, or `.cargo/config.toml` was not read.
#[cfg(feature = "compiled-spirv-tools")]
#[test]
fn the_compiled_tools_have_no_assertions() {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let contains = |text: &[u8]| program.windows(text.len()).any(|part| part == text);
    // What the parser says, and what the optimizer asserts of passes that claim to have changed nothing.
    let [said, asserted] = [["Invalid SPIR-V ma", "gic number"], ["Binary size unex", "pectedly changed"]];
    assert!(contains(said.concat().as_bytes()), "the tools are in this program");
    assert!(!contains(asserted.concat().as_bytes()));
}
