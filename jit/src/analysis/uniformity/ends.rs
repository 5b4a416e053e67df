//! Selections whose sides all return are made to meet.
//!
//! Where nothing comes behind a selection, the normal form of a kernel returns on each of its sides. What is done for one invocation after another has to
//! come out at one place, so such sides go to the merge block, and that returns.
//!
//! # Guarantees
//! - each invocation does what it did, in the same order: a return is a branch to a block that only returns

use ahash::AHashSet;
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::Op;

use crate::analysis::cfg::Cfg;

/// Joins the ends of selections, inner ones first; blocks keep their numbers.
pub(crate) fn join_ends(function: &mut Function) {
    while join_one(function) {}
}

/// Joins those of one selection; whether there was one.
fn join_one(function: &mut Function) -> bool {
    let cfg = Cfg::new(function);
    let blocks = &function.blocks;
    let merge_of = |block: usize| {
        let mut found = blocks[block].instructions.iter().rev();
        let merge = found.find(|inst| matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge))?;
        let to = cfg.block_of_label(merge.operands.first()?.id_ref_any()?)?;
        Some((to, merge.class.opcode == Op::LoopMerge))
    };
    let headers: Vec<(usize, usize, bool)> = (0..blocks.len())
        .filter(|&block| cfg.is_reachable(block))
        .filter_map(|block| merge_of(block).map(|(merge, is_loop)| (block, merge, is_loop)))
        .collect();
    let inside = |&(header, merge, is_loop): &(usize, usize, bool), block: usize| {
        cfg.is_reachable(block)
            && cfg.dominates(header, block)
            && (is_loop || block != header)
            && !(cfg.is_reachable(merge) && cfg.dominates(merge, block))
    };
    for one in headers.iter().filter(|one| !one.2) {
        let (_, merge, _) = *one;
        let ends = match blocks[merge].instructions.as_slice() {
            [only] => matches!(only.class.opcode, Op::Return | Op::Unreachable),
            _ => false,
        };
        if !ends || headers.iter().any(|other| other.0 != one.0 && other.1 == merge) {
            continue;
        }
        let returning: AHashSet<usize> = (0..blocks.len())
            .filter(|&block| block != merge && inside(one, block))
            .filter(|&block| {
                blocks[block].instructions.last().is_some_and(|last| last.class.opcode == Op::Return)
            })
            .collect();
        // Only what lies directly in a selection may branch to its end.
        let directly = |block: &usize| {
            !headers.iter().any(|other| other.0 != one.0 && inside(one, other.0) && inside(other, *block))
        };
        if returning.is_empty() || !returning.iter().all(directly) {
            continue;
        }
        let label = blocks[merge].label_id().unwrap_or(0);
        for block in returning {
            let instructions = &mut function.blocks[block].instructions;
            instructions.pop();
            instructions.push(Instruction::new(Op::Branch, None, None, vec![Operand::IdRef(label)]));
        }
        function.blocks[merge].instructions = vec![Instruction::new(Op::Return, None, None, Vec::new())];
        return true;
    }
    false
}
