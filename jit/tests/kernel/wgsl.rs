//! WGSL text as input.

use vkfuse_jit::kernel::{BindingKind, Kernel, KernelError, Module};

use super::corpus;

const DOUBLE: &str = include_str!("../kernels/naga.wgsl");

#[test]
fn loads_wgsl_with_several_entry_points() {
    let module = Module::from_wgsl("double", DOUBLE).unwrap();
    assert_eq!(module.entry_points(), ["double", "tiled"]);
    let double = Kernel::new(&module, Some("double")).unwrap().specialize(&[]).unwrap();
    let interface = &double.interface;
    let kinds: Vec<_> = interface.bindings.iter().map(|b| (b.kind, b.reads, b.writes)).collect();
    assert_eq!(
        kinds,
        [
            (BindingKind::StorageBuffer, true, false),
            (BindingKind::StorageBuffer, false, true),
            (BindingKind::UniformBuffer, true, false),
        ]
    );
    assert!(interface.item_only);
    assert_eq!(interface.bindings[2].name.as_deref(), Some("params"));
    let normal = double.normal.as_ref().unwrap();
    assert_eq!(normal.module.functions.len(), 1);
    corpus::assert_valid("wgsl", &double.plain.strict);

    let tiled = Kernel::new(&module, Some("tiled")).unwrap().specialize(&[]).unwrap();
    assert_eq!(tiled.interface.local_size, [8, 8, 1]);
    assert_eq!(tiled.interface.workgroup_bytes, 256);
    assert!(tiled.interface.has_barrier && tiled.normal.is_ok());
}

#[test]
fn names_line_and_column_of_a_mistake() {
    let error =
        Module::from_wgsl("bad", "@compute @workgroup_size(1)\nfn main() { let x = y; }").unwrap_err();
    let KernelError::Wgsl { line, column, message, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((*line, *column), (2, 21), "{message}");
    let error = Module::from_wgsl("type", "fn f() -> u32 {\n  return 1.5f;\n}").unwrap_err();
    assert!(matches!(error, KernelError::Wgsl { line: 1 | 2, .. }), "{error}");
}

#[test]
fn survives_mutilated_text() {
    for cut in 0..DOUBLE.len() {
        let _ = Module::from_wgsl("cut", &DOUBLE[..cut]);
        if cut % 9 == 0 {
            let text = [&DOUBLE[..cut], "(((((", &DOUBLE[cut..]].concat();
            let _ = Module::from_wgsl("odd", &text);
        }
    }
}

/// `naga.spv` is what this crate's naga makes of `naga.wgsl`. `BLESS=1` writes it anew.
#[test]
fn the_checked_in_module_is_what_naga_writes() {
    let words = Module::from_wgsl("naga", DOUBLE).unwrap().words().to_vec();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    if std::env::var_os("BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/naga.spv");
        std::fs::write(path, &bytes).unwrap();
    }
    assert!(corpus::bytes("naga") == bytes, "run with BLESS=1 to accept naga's new output");
}
