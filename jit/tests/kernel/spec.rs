//! Specialization constants: reflection, values, defaults, mistakes.

use std::sync::Arc;

use rspirv::binary::Disassemble;
use rspirv::dr::Operand;
use rspirv::spirv::Op;
use vkfuse_jit::kernel::{KernelError, SpecType, SpecValue};

use super::corpus;

#[test]
fn reflects_constants_with_type_and_default() {
    let kernel = corpus::kernel("spec");
    let list: Vec<_> = kernel.spec_constants().iter().map(|c| (c.id, c.ty, c.default)).collect();
    assert_eq!(
        list,
        [
            (0, SpecType::Bool, SpecValue::Bool(true)),
            (1, SpecType::I32, SpecValue::I32(-3)),
            (2, SpecType::U32, SpecValue::U32(4)),
            (3, SpecType::F32, SpecValue::F32(1.5)),
            (4, SpecType::F64, SpecValue::F64(2.5)),
            (5, SpecType::I64, SpecValue::I64(-5)),
            (6, SpecType::I16, SpecValue::I16(-2)),
            (7, SpecType::U32, SpecValue::U32(2)),
            (10, SpecType::U32, SpecValue::U32(1)),
            (11, SpecType::U32, SpecValue::U32(1)),
        ]
    );
    assert_eq!(kernel.spec_constants()[2].name.as_deref(), Some("COUNT"));
}

#[test]
fn local_size_comes_from_constants_in_every_version() {
    for name in ["spec", "spec.0", "spec.2", "spec.3", "spec.g", "spec.o", "spec.gos"] {
        let values = [(10, SpecValue::U32(16)), (11, SpecValue::I32(4))];
        let kernel = corpus::kernel(name).specialize(&values).unwrap();
        assert_eq!(kernel.interface.local_size, [16, 4, 1], "{name}");
        let module = rspirv::dr::load_words(&kernel.plain.contract).unwrap();
        let sizes: Vec<_> = module.execution_modes.iter().map(|mode| &mode.operands[2..]).collect();
        let expected = [16, 4, 1].map(Operand::LiteralBit32);
        assert_eq!(sizes, [&expected[..]], "{name}");
        assert!(!module.disassemble().contains("WorkgroupSize"), "{name}");
    }
}

#[test]
fn no_constant_stays_open() {
    for name in ["spec", "spec_ops", "spec.3"] {
        let kernel = corpus::specialized(name);
        for words in [&kernel.plain.strict, &kernel.plain.contract] {
            let text = rspirv::dr::load_words(words).unwrap().disassemble();
            assert!(!text.contains("Spec"), "{name}: {text}");
        }
    }
}

#[test]
fn values_reach_computed_constants() {
    // COUNT / DIVISOR + 1, and an array of COUNT * 2 floats.
    let shared = |count, divisor| {
        let values = [(2, SpecValue::U32(count)), (7, SpecValue::U32(divisor))];
        let kernel = corpus::kernel("spec").specialize(&values).unwrap();
        (kernel.interface.workgroup_bytes, kernel.normal.is_ok())
    };
    assert_eq!(shared(4, 2), (32, true));
    assert_eq!(shared(10, 2), (80, true));
    // Division by zero has no defined result; it must not take the process down.
    assert_eq!(shared(10, 0), (80, true));
}

#[test]
fn rare_operations_are_evaluated() {
    // x = 8, two = 2: v = (8, 2), sum = (16, 4), mix = (4, 8, 16, 2), ins = (4, 2, 16, 2),
    // pick = v < sum ? sum : v = (16, 4), sel = e0.
    let stored = |values: &[(u32, SpecValue)]| -> Vec<u32> {
        let kernel = corpus::kernel("spec_ops").specialize(values).unwrap();
        assert_eq!(kernel.interface.version, (1, 6));
        let module = &kernel.normal.as_ref().unwrap().module;
        let value = |id: u32| {
            let inst = module.types_global_values.iter().find(|i| i.result_id == Some(id))?;
            match (inst.class.opcode, inst.operands.first()) {
                (Op::Constant, Some(Operand::LiteralBit32(value))) => Some(*value),
                _ => None,
            }
        };
        let stores = module.functions[0].all_inst_iter();
        let stores = stores.filter(|inst| inst.class.opcode == Op::Store);
        stores.filter_map(|inst| value(inst.operands[1].unwrap_id_ref())).collect()
    };
    assert_eq!(stored(&[])[..5], [4, 2, 16, 16, 4]);
    let other = [(0, SpecValue::U32(5)), (1, SpecValue::Bool(false))];
    assert_eq!(stored(&other)[..5], [4, 2, 10, 10, 2]);
    let size = corpus::kernel("spec_ops").specialize(&other).unwrap().interface.local_size;
    assert_eq!(size, [10, 2, 2]);
}

#[test]
fn same_values_same_kernel() {
    let kernel = corpus::kernel("spec");
    let default = kernel.specialize(&[]).unwrap();
    let named = kernel.specialize(&[(2, SpecValue::U32(4)), (1, SpecValue::U32(-3i32 as u32))]).unwrap();
    assert!(Arc::ptr_eq(&default, &named));
    let other = kernel.clone().specialize(&[(2, SpecValue::U32(5))]).unwrap();
    assert!(!Arc::ptr_eq(&default, &other));
    assert_ne!(default.hash, other.hash);
}

#[test]
fn refuses_a_value_of_the_wrong_type() {
    let kernel = corpus::kernel("spec");
    for (id, value) in [
        (0, SpecValue::U16(1)),
        (1, SpecValue::F32(1.0)),
        (2, SpecValue::U64(1)),
        (3, SpecValue::U32(1)),
        (5, SpecValue::I32(1)),
        (6, SpecValue::F16(0)),
    ] {
        let error = kernel.specialize(&[(id, value)]).unwrap_err();
        let KernelError::SpecializationType { id: named, given, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((named, given), (id, value.ty()));
    }
}

/// As Vulkan has it: any word but zero is true.
#[test]
fn a_boolean_takes_a_word() {
    let kernel = corpus::kernel("spec");
    let with = |value| kernel.specialize(&[(0, value)]).unwrap();
    for (word, is) in [(0, false), (1, true), (u32::MAX, true)] {
        assert!(std::sync::Arc::ptr_eq(&with(SpecValue::U32(word)), &with(SpecValue::Bool(is))));
    }
}

#[test]
fn ignores_an_unknown_constant_and_refuses_a_repeated_one() {
    let kernel = corpus::kernel("spec");
    let with = kernel.specialize(&[(99, SpecValue::U32(1))]).unwrap();
    assert!(std::sync::Arc::ptr_eq(&with, &kernel.specialize(&[]).unwrap()));
    let twice = [(2, SpecValue::U32(1)), (2, SpecValue::U32(2))];
    let error = kernel.specialize(&twice).unwrap_err();
    assert!(matches!(error, KernelError::RepeatedSpecialization { id: 2, .. }), "{error}");
}

#[test]
fn refuses_values_that_make_the_module_invalid() {
    let kernel = corpus::kernel("spec");
    let error = kernel.specialize(&[(10, SpecValue::U32(0))]).unwrap_err();
    assert!(matches!(error, KernelError::LocalSize { .. }), "{error}");
    // An array of length zero.
    let error = kernel.specialize(&[(2, SpecValue::U32(0))]).unwrap_err();
    assert!(matches!(error, KernelError::SpecializationValues { .. }), "{error}");
    assert!(
        error.to_string().contains("`spec` cannot have 0 for specialization constant 2 (`COUNT`)"),
        "{error}"
    );
}
