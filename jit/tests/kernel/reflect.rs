//! Interfaces with concrete values.

use rspirv::spirv::BuiltIn;
use vkfuse_jit::kernel::{Binding, BindingKind, Interface, PushMember, ScalarClass};

use super::corpus;

fn interface(name: &str) -> Interface {
    corpus::specialized(name).interface.clone()
}

/// Set, binding, reads, writes, fixed bytes, stride.
fn buffers(interface: &Interface) -> Vec<(u32, u32, bool, bool, u64, Option<u32>)> {
    let row = |b: &Binding| (b.at.set, b.at.binding, b.reads, b.writes, b.min_size, b.runtime_stride);
    interface.bindings.iter().map(row).collect()
}

#[test]
fn chain_in_every_version() {
    for name in ["chain", "chain.0", "chain.2", "chain.3", "chain.g", "chain.o", "chain.gos"] {
        let interface = interface(name);
        assert_eq!(interface.local_size, [64, 1, 1], "{name}");
        assert_eq!(
            buffers(&interface),
            [
                (0, 0, true, false, 0, Some(4)),
                (0, 1, true, false, 0, Some(4)),
                (0, 2, false, true, 0, Some(4)),
            ],
            "{name}"
        );
        assert!(interface.bindings.iter().all(|b| b.kind == BindingKind::StorageBuffer));
        let push = interface.push.as_ref().unwrap();
        assert_eq!(push.size, 8);
        assert_eq!(interface.builtins, [BuiltIn::GlobalInvocationId], "{name}");
        assert!(interface.item_only, "{name}");
    }
    let versions = ["chain.0", "chain", "chain.2", "chain.3"].map(|name| interface(name).version);
    assert_eq!(versions, [(1, 0), (1, 3), (1, 5), (1, 6)]);
}

#[test]
fn older_storage_buffers_get_the_newer_class() {
    use rspirv::binary::Disassemble;
    for name in ["chain.0", "control.0", "shared.0", "hlsl.0g"] {
        let text = corpus::normal(name).module.disassemble();
        assert!(!text.contains("BufferBlock"), "{name}: {text}");
        assert!(text.contains("; Version: 1.3"), "{name}");
        assert!(text.contains("StorageBuffer"), "{name}");
    }
}

#[test]
fn layouts_of_structures_matrices_and_narrow_types() {
    let interface = interface("types");
    assert_eq!(interface.local_size, [8, 4, 2]);
    assert_eq!(
        buffers(&interface),
        [
            // uint count; Outer outer[]: two 16-byte parts and a mat3 of 16-byte columns.
            (0, 0, true, true, 4, Some(80)),
            // double, int64_t, uint64_t
            (1, 1, true, true, 24, None),
            // 16 bytes, 8 shorts, halves
            (1, 3, true, true, 32, Some(2)),
            // Row-major: 3 rows of 8 bytes. Column-major at 32: one 16-byte column and one of 12.
            (2, 0, true, false, 60, None),
        ]
    );
}

#[test]
fn uniform_buffers_and_nested_push_constants() {
    let interface = interface("uniform");
    assert_eq!(
        buffers(&interface),
        [
            (0, 2, true, true, 4, Some(16)),
            // vec4, float[3] with stride 16, mat4 at 64
            (0, 4, true, false, 128, None),
        ],
        "the unused binding must not appear"
    );
    assert_eq!(interface.bindings[1].kind, BindingKind::UniformBuffer);
    assert_eq!(interface.bindings[1].name.as_deref(), Some("params"));
    let push = interface.push.as_ref().unwrap();
    assert_eq!(push.size, 40);
    let member = |offset, class| PushMember { offset, size: 4, class };
    assert_eq!(
        push.members,
        [
            member(16, ScalarClass::Uint),
            member(20, ScalarClass::Int),
            member(24, ScalarClass::Float),
            member(28, ScalarClass::Float),
            member(32, ScalarClass::Uint),
            member(36, ScalarClass::Uint),
        ]
    );
}

#[test]
fn shared_memory_and_barriers() {
    for name in ["shared", "shared.0", "shared.3", "shared.o"] {
        let interface = interface(name);
        // float[128], then vec3[3] with a stride of 16.
        assert_eq!(interface.workgroup_bytes, 512 + 48, "{name}");
        assert!(interface.has_barrier && !interface.item_only && !interface.has_atomics);
        assert_eq!(
            interface.builtins,
            [BuiltIn::WorkgroupId, BuiltIn::LocalInvocationId, BuiltIn::GlobalInvocationId]
        );
    }
}

#[test]
fn subgroup_operations_forbid_regrouping() {
    let interface = interface("subgroup");
    assert!(interface.has_subgroup_ops);
    assert!(!interface.item_only);
    assert_eq!(interface.builtins, [BuiltIn::GlobalInvocationId]);
}

#[test]
fn atomics_read_and_write_and_length_does_neither() {
    let interface = interface("atomics");
    assert!(interface.has_atomics);
    assert_eq!(
        buffers(&interface),
        [(0, 0, true, false, 0, Some(4)), (0, 1, true, true, 0, Some(4)), (0, 2, false, false, 4, Some(4)),]
    );
}

#[test]
fn only_the_global_id_may_be_read_for_regrouping() {
    assert!(interface("plain_ids").item_only);
    assert!(!interface("group_count").item_only);
    assert!(interface("control").item_only);
}

#[test]
fn hlsl_bindings() {
    for name in ["hlsl", "hlsl.0g"] {
        let interface = interface(name);
        assert_eq!(
            buffers(&interface),
            [
                // float4 and uint, padded to 32
                (0, 0, true, true, 0, Some(32)),
                (0, 1, true, false, 0, Some(4)),
                (0, 2, false, true, 0, Some(4)),
                (0, 3, true, false, 80, None),
            ],
            "{name}"
        );
        assert_eq!(interface.bindings[3].kind, BindingKind::UniformBuffer);
        assert_eq!(interface.local_size, [32, 1, 1]);
        assert!(interface.has_barrier);
        assert_eq!(interface.workgroup_bytes, 128);
    }
}

#[test]
fn copies_between_buffers_are_reads_and_writes() {
    let interface = interface("copies");
    assert_eq!(buffers(&interface), [(0, 0, true, false, 0, Some(16)), (0, 1, true, true, 0, Some(16))]);
}

/// By `OpLine`, and by the newer debug information.
#[test]
fn accesses_have_the_lines_that_debug_information_says() {
    for name in ["chain.g", "chain.gvs", "chain.gos"] {
        let module = corpus::module(name);
        for (binding, writes) in [(0, false), (1, false), (2, true)] {
            assert_eq!(module.lines(binding.into(), writes), [11], "{name}, binding {binding}");
        }
        assert!(
            module.lines(0.into(), true).is_empty() && module.lines(2.into(), false).is_empty(),
            "{name}"
        );
    }
    assert!(corpus::module("chain").lines(0.into(), false).is_empty());
}
