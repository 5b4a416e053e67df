//! Floating point without contraction: the form in which fused and unfused runs agree bit for bit.
//!
//! A driver may contract `a * b + c` to a fused multiply-add unless this is forbidden, and it finds more
//! to contract in a fused kernel than across a store and a load. `NoContraction` on every arithmetic
//! result forbids it (SPIR-V, "Decoration"). `RelaxedPrecision` is removed for the same reason: whether a
//! relaxed result is rounded depends on what surrounds it.
//!
//! # Requires
//! - a module that is otherwise done; running twice does no harm
//!
//! # Guarantees
//! - every result of float arithmetic is decorated `NoContraction`, or with float controls 2 has no freedom left
//! - no `RelaxedPrecision`
//!
//! # Leaves alone
//! - what extended instructions do inside: `formulas` writes out those that are short for a formula

use ahash::AHashSet;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Capability, Decoration, FPFastMathMode, Op};

use crate::frontend::opcodes;

/// Decorates the float arithmetic of a module. Idempotent.
pub(in crate::frontend) fn run(module: &mut Module) {
    let controls2 = Operand::Capability(Capability::FloatControls2);
    let controls2 = module.capabilities.iter().any(|inst| inst.operands.contains(&controls2));
    module.annotations.retain(|inst| {
        let relaxed = Operand::Decoration(Decoration::RelaxedPrecision);
        !inst.operands.contains(&relaxed)
    });
    if controls2 {
        no_fast_math(module);
    } else {
        no_contraction(module);
    }
}

fn no_contraction(module: &mut Module) {
    let done = decorated(module, Decoration::NoContraction);
    let fresh: Vec<u32> = arithmetic(module).filter(|id| !done.contains(id)).collect();
    let decoration = |id| {
        let operands = vec![Operand::IdRef(id), Operand::Decoration(Decoration::NoContraction)];
        Instruction::new(Op::Decorate, None, None, operands)
    };
    module.annotations.extend(fresh.into_iter().map(decoration));
}

/// With float controls 2 declared, `FPFastMathMode` says what `NoContraction` says elsewhere.
fn no_fast_math(module: &mut Module) {
    let freedoms = FPFastMathMode::ALLOW_CONTRACT
        | FPFastMathMode::ALLOW_REASSOC
        | FPFastMathMode::ALLOW_TRANSFORM
        | FPFastMathMode::FAST;
    for inst in &mut module.annotations {
        for operand in &mut inst.operands {
            if let Operand::FPFastMathMode(mode) = operand {
                mode.remove(freedoms);
            }
        }
    }
    let done = decorated(module, Decoration::FPFastMathMode);
    let fresh: Vec<u32> = arithmetic(module).filter(|id| !done.contains(id)).collect();
    let decoration = |id| {
        let operands = vec![
            Operand::IdRef(id),
            Operand::Decoration(Decoration::FPFastMathMode),
            Operand::FPFastMathMode(FPFastMathMode::NONE),
        ];
        Instruction::new(Op::Decorate, None, None, operands)
    };
    module.annotations.extend(fresh.into_iter().map(decoration));
}

fn decorated(module: &Module, kind: Decoration) -> AHashSet<u32> {
    let matching = module.annotations.iter().filter(|inst| {
        inst.class.opcode == Op::Decorate && inst.operands.get(1) == Some(&Operand::Decoration(kind))
    });
    matching.filter_map(|inst| inst.operands.first().and_then(Operand::id_ref_any)).collect()
}

/// Result ids of float arithmetic, in order.
fn arithmetic(module: &Module) -> impl Iterator<Item = u32> + '_ {
    let insts = module.functions.iter().flat_map(|f| f.all_inst_iter());
    insts
        .filter(|inst| opcodes::has(inst.class.opcode, opcodes::CONTRACTIBLE))
        .filter_map(|inst| inst.result_id)
}
