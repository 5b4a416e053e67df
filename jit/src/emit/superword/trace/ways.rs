//! What lies between the blocks of a function.

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{Op, Word};

use crate::analysis::if_conversion::comes_to;
use crate::frontend::opcodes;

/// A function, and its blocks by their labels.
pub(super) type Blocks<'a> = (&'a Function, &'a AHashMap<Word, usize>);

/// Whether nothing happens from a block to the end of the function.
pub(super) fn ends_at_once((function, blocks): Blocks<'_>, at: Word) -> bool {
    blocks.get(&at).is_some_and(|&at| comes_to(function, blocks, at) == Some(Op::Return))
}

/// Whether all that lies between a block and the one where sides meet only computes, and can be computed in vain.
pub(super) fn computes((function, blocks): Blocks<'_>, first: Word, meets: Word) -> bool {
    let (mut open, mut seen) = (vec![first], AHashSet::new());
    while let Some(label) = open.pop() {
        if label == meets || !seen.insert(label) {
            continue;
        }
        let Some(&block) = blocks.get(&label) else { return false };
        for inst in &function.blocks[block].instructions {
            let op = inst.class.opcode;
            let fits = match op {
                Op::Phi | Op::SelectionMerge | Op::BranchConditional | Op::Branch | Op::CopyObject => true,
                op => opcodes::is_pure(inst) && !opcodes::has(op, opcodes::DIVIDES),
            };
            let argument = matches!(op, Op::AccessChain | Op::Load);
            if !fits && !argument {
                return false;
            }
            if argument && !is_argument(function, inst) {
                return false;
            }
            if matches!(op, Op::Branch | Op::BranchConditional) {
                let skipped = usize::from(op == Op::BranchConditional);
                open.extend(inst.operands.iter().skip(skipped).filter_map(Operand::id_ref_any));
            }
        }
    }
    true
}

/// Whether a chain or load has to do with variables of which each invocation has its own, or with arguments at a constant place.
fn is_argument(function: &Function, inst: &Instruction) -> bool {
    let Some(base) = inst.operands.first().and_then(Operand::id_ref_any) else { return false };
    let body = || function.blocks.iter().flat_map(|block| &block.instructions);
    let own = |id: Word| body().find(|inst| inst.result_id == Some(id));
    match inst.class.opcode {
        Op::Load => own(base).is_some_and(|chain| is_argument(function, chain)),
        // A chain on a global, with no index of the function's own.
        _ => {
            own(base).is_none()
                && inst.operands[1..].iter().filter_map(Operand::id_ref_any).all(|index| own(index).is_none())
        }
    }
}
