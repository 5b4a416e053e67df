//! The modules that run unfused.

use rspirv::dr::{Module, Operand};
use rspirv::spirv::{Decoration, Op};

use super::corpus;

fn decorated(module: &Module, kind: Decoration) -> Vec<u32> {
    let with = module.annotations.iter();
    with.filter(|inst| inst.operands.contains(&Operand::Decoration(kind)))
        .map(|inst| inst.operands[0].unwrap_id_ref())
        .collect()
}

#[test]
fn strict_words_forbid_contraction_of_every_operation() {
    let kernel = corpus::specialized("precise");
    let strict = rspirv::dr::load_words(&kernel.plain.strict).unwrap();
    let marked = decorated(&strict, Decoration::NoContraction);
    let arithmetic = [
        Op::FAdd,
        Op::FSub,
        Op::FMul,
        Op::FDiv,
        Op::FMod,
        Op::FNegate,
        Op::Dot,
        Op::VectorTimesScalar,
        Op::MatrixTimesScalar,
        Op::MatrixTimesVector,
        Op::VectorTimesMatrix,
        Op::MatrixTimesMatrix,
        Op::OuterProduct,
    ];
    let mut seen = Vec::new();
    for inst in strict.all_inst_iter() {
        if arithmetic.contains(&inst.class.opcode) {
            let id = inst.result_id.unwrap();
            let times = marked.iter().filter(|marked| **marked == id).count();
            assert_eq!(times, 1, "%{id} = {:?}", inst.class.opcode);
            seen.push(inst.class.opcode);
        }
    }
    for op in [Op::FMul, Op::FAdd, Op::OuterProduct, Op::FMod] {
        assert!(seen.contains(&op), "the kernel has no {op:?}");
    }
    // Drivers contract inside of these, whatever is decorated.
    for op in [Op::Dot, Op::MatrixTimesVector, Op::VectorTimesMatrix, Op::MatrixTimesMatrix] {
        assert!(!seen.contains(&op), "{op:?} is not expanded");
    }
    assert!(decorated(&strict, Decoration::RelaxedPrecision).is_empty());

    let contract = rspirv::dr::load_words(&kernel.plain.contract).unwrap();
    assert!(decorated(&contract, Decoration::NoContraction).len() < marked.len());
    assert!(!decorated(&contract, Decoration::RelaxedPrecision).is_empty());
}

#[test]
fn debug_information_is_gone_and_the_entry_point_is_main() {
    for name in ["control.g", "control.gvs", "spec.gvs", "hlsl.0g", "spec.gos", "many"] {
        let module = corpus::module(name);
        let entry = module.entry_points().last().unwrap();
        let kernel = vkfuse_jit::kernel::Kernel::new(&module, Some(entry)).unwrap();
        let kernel = kernel.specialize(&[]).unwrap();
        let plain = rspirv::dr::load_words(&kernel.plain.strict).unwrap();
        assert!(plain.debug_names.is_empty() && plain.debug_string_source.is_empty(), "{name}");
        assert!(plain.all_inst_iter().all(|inst| inst.class.opcode != Op::Line), "{name}");
        assert_eq!(plain.entry_points.len(), 1, "{name}");
        let name = &plain.entry_points[0].operands[2];
        assert_eq!(*name, Operand::LiteralString("main".to_owned()));
    }
}
