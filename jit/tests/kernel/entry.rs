//! Choosing an entry point.

use vkfuse_jit::kernel::{BindingKind, Kernel, KernelError, SetBinding};

use super::corpus;

#[test]
fn lists_compute_entry_points_in_order() {
    let module = corpus::module("many");
    assert_eq!(module.entry_points(), ["first", "second", "third"]);
    assert_eq!(corpus::module("fragment").entry_points(), [""; 0]);
}

#[test]
fn refuses_an_unknown_entry_point() {
    let error = Kernel::new(&corpus::module("many"), Some("fourth")).unwrap_err();
    let KernelError::UnknownEntry { entry, available, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(entry, "fourth");
    assert_eq!(available.len(), 3);
    assert_eq!(
        error.to_string(),
        "module `many` has no compute entry point `fourth`; it has `first`, `second`, `third`"
    );
}

#[test]
fn refuses_to_guess_between_entry_points() {
    let error = Kernel::new(&corpus::module("many"), None).unwrap_err();
    assert!(matches!(error, KernelError::AmbiguousEntry { .. }), "{error}");
}

#[test]
fn refuses_a_module_without_compute_entry_point() {
    for entry in [None, Some("main")] {
        let error = Kernel::new(&corpus::module("fragment"), entry).unwrap_err();
        assert!(matches!(error, KernelError::NoComputeEntry { .. }), "{error}");
    }
}

#[test]
fn keeps_only_what_the_entry_point_uses() {
    let module = corpus::module("many");
    let of = |entry| Kernel::new(&module, Some(entry)).unwrap().specialize(&[]).unwrap();
    let (first, second, third) = (of("first"), of("second"), of("third"));

    assert_eq!(first.interface.local_size, [1, 2, 3]);
    let bindings: Vec<_> = first.interface.bindings.iter().collect();
    let [left] = bindings[..] else {
        panic!("{bindings:?}");
    };
    assert_eq!((left.at, left.kind), (SetBinding::default(), BindingKind::StorageBuffer));
    assert_eq!((left.reads, left.writes), (false, true));
    assert_eq!(left.name.as_deref(), Some("left"));

    // Binding 0 is read in a function that is called; it has a name, binding 1 takes its block's.
    let bindings = &second.interface.bindings;
    assert_eq!((bindings[0].reads, bindings[0].writes), (true, false));
    assert_eq!((bindings[1].reads, bindings[1].writes), (false, true));
    assert_eq!(bindings[1].name.as_deref(), Some("Block"));
    assert!(second.normal.is_ok(), "{:?}", second.normal.as_ref().err());

    assert_eq!(third.interface.local_size, [5, 1, 1]);
    assert!(third.interface.bindings.is_empty());
    assert!(third.plain.strict.len() < first.plain.strict.len());
    assert_ne!(first.hash, second.hash);
}
