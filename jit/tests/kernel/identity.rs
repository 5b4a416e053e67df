//! What the hash depends on and what it does not.

use vkfuse_jit::kernel::{Kernel, Module};

use super::corpus;

fn hash(module: &Module) -> [u8; 32] {
    Kernel::new(module, None).unwrap().specialize(&[]).unwrap().hash
}

#[test]
fn debug_information_does_not_change_it() {
    for name in ["chain", "control", "shared", "spec"] {
        let with = corpus::module(&format!("{name}.g"));
        let without = corpus::module(name);
        assert_eq!(hash(&with), hash(&without), "{name}");
        assert_ne!(with.hash(), without.hash(), "{name}");
    }
}

#[test]
fn the_name_and_the_byte_order_do_not_change_it() {
    let bytes = corpus::bytes("chain");
    let swapped: Vec<u8> = bytes.chunks(4).flat_map(|c| [c[3], c[2], c[1], c[0]]).collect();
    let a = Module::from_bytes("one", &bytes).unwrap();
    let b = Module::from_bytes("other", &swapped).unwrap();
    assert_eq!(hash(&a), hash(&b));
    assert_eq!(a.hash(), b.hash());
}

#[test]
fn every_kernel_has_its_own() {
    let names = ["chain", "control", "shared", "spec", "types", "uniform", "atomics", "subgroup"];
    let mut hashes: Vec<_> = names.iter().map(|name| hash(&corpus::module(name))).collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), names.len());
}

#[test]
fn loading_twice_gives_the_same_words() {
    use rspirv::binary::Assemble;
    for name in ["control", "hlsl", "spec", "types"] {
        let (a, b) = (corpus::specialized(name), corpus::specialized(name));
        assert_eq!(a.plain, b.plain, "{name}");
        let words = |name| corpus::normal(name).module.assemble();
        assert_eq!(words(name), words(name), "{name}");
        assert_eq!(a.interface, b.interface, "{name}");
    }
}
