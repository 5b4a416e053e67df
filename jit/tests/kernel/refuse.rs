//! Kernels that load and run, but have no normal form, each with its reason.

use vkfuse_jit::Reason;
use vkfuse_jit::kernel::{Binding, BindingKind, DescriptorArray, KernelReason, SetBinding};

use super::corpus;

fn reason(name: &str) -> KernelReason {
    match corpus::specialized(name).normal.as_ref() {
        Ok(_) => panic!("{name} has a normal form"),
        Err(Reason::Kernel(reason)) => reason.clone(),
        Err(other) => panic!("{name}: {other}"),
    }
}

#[test]
fn images_and_samplers_are_known_by_kind() {
    let kernel = corpus::specialized("image");
    let kinds: Vec<_> = kernel.interface.bindings.iter().map(|binding| binding.kind).collect();
    assert_eq!(
        kinds,
        [
            BindingKind::Other("storage image"),
            BindingKind::Other("combined image sampler"),
            BindingKind::StorageBuffer
        ]
    );
    let access = |b: &Binding| (b.reads, b.writes);
    let access: Vec<_> = kernel.interface.bindings.iter().map(access).collect();
    assert_eq!(access, [(false, true), (true, false), (true, false)]);
}

#[test]
fn a_binding_of_several_kinds_loads_and_says_so() {
    let (at, kind) = (SetBinding::default(), "binding of several kinds");
    assert_eq!(reason("mixed"), KernelReason::Resource { at, kind });
    let bindings = &corpus::specialized("mixed").interface.bindings;
    assert_eq!(bindings.iter().map(|binding| binding.kind).collect::<Vec<_>>(), [BindingKind::Other(kind)]);
}

#[test]
fn refuses_texel_buffer() {
    let at = SetBinding::from(7);
    let kind = "storage texel buffer";
    assert_eq!(reason("texel"), KernelReason::Resource { at, kind });
    assert_eq!(reason("texel").to_string(), "set 0, binding 7 is a storage texel buffer");
}

#[test]
fn refuses_pointers_to_pointers_of_the_same_type() {
    assert_eq!(reason("linked"), KernelReason::RecursivePointers);
    // It runs, and what it needs is known.
    assert!(corpus::specialized("linked").interface.uses_device_addresses);
}

#[test]
fn refuses_an_array_of_descriptors() {
    let at = SetBinding::from(1);
    assert_eq!(reason("array"), KernelReason::DescriptorArray { at });
    // Each element is a binding, which is accessed as constants say.
    let bindings = &corpus::specialized("array").interface.bindings;
    let array = Some(DescriptorArray { len: 4, dynamic: false });
    assert_eq!(bindings.iter().map(|one| one.at.element).collect::<Vec<_>>(), [0, 1, 2, 3]);
    for one in bindings {
        assert_eq!((one.at.whole(), one.kind, one.array), (at, BindingKind::StorageBuffer, array));
    }
    let accessed: Vec<_> = bindings.iter().map(|one| (one.reads, one.writes)).collect();
    assert_eq!(accessed, [(false, false), (true, false), (false, true), (false, false)]);
}

#[test]
fn refuses_a_volatile_buffer() {
    let at = Some(SetBinding::from(6));
    assert_eq!(reason("volatile"), KernelReason::Volatile { at });
}

#[test]
fn refuses_a_pointer_chosen_between_buffers() {
    let at = Some(SetBinding::from(3));
    let op = "OpSelect".to_owned();
    assert_eq!(reason("pointers"), KernelReason::VariablePointer { at, op });
    // Either buffer may be written through the chosen pointer; neither is read.
    for binding in &corpus::specialized("pointers").interface.bindings {
        assert_eq!((binding.reads, binding.writes), (false, true));
    }
}
