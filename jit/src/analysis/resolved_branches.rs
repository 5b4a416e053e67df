//! Resolved branches: those that go one way in every invocation become plain ones.
//!
//! # Requires
//! - branches whose other way is empty (`plan::dispatch::resolved_branches`)
//!
//! # Guarantees
//! - what an invocation does is what it did
//! - blocks that control does not come to any more are gone, and no phi speaks of them

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Block, Instruction, Operand};
use rspirv::spirv::{Op, Word};

/// A branch that goes one way in every invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedBranch {
    /// The block that ends in it, by its number in the kernel's function.
    pub(crate) block: u32,
    /// What its condition always is.
    pub(crate) taken: bool,
}

/// Ends block `number` in a plain branch, if it ends in one of these.
pub(crate) fn resolve(resolved: &[ResolvedBranch], number: usize, code: &mut Vec<Instruction>) {
    let Some(one) = resolved.iter().find(|one| one.block as usize == number) else { return };
    let Some(last) = code.pop() else { return };
    let side = if one.taken { 1 } else { 2 };
    code.pop_if(|merge| merge.class.opcode == Op::SelectionMerge);
    let target = last.operands.get(side).cloned().into_iter().collect();
    code.push(Instruction::new(Op::Branch, None, None, target));
}

/// Labels that an instruction names as places to go, or where constructs end.
fn labels(inst: &Instruction) -> impl Iterator<Item = Word> + '_ {
    let first = match inst.class.opcode {
        Op::Branch | Op::SelectionMerge | Op::LoopMerge => 0,
        Op::BranchConditional | Op::Switch => 1,
        _ => inst.operands.len(),
    };
    inst.operands.iter().skip(first).filter_map(Operand::id_ref_any)
}

/// Takes out blocks that nothing leads to, and what phis say of ways that are gone.
pub(crate) fn sweep(blocks: &mut Vec<Block>) {
    let labels_at = blocks.iter().enumerate().filter_map(|(n, block)| Some((block.label_id()?, n)));
    let at: AHashMap<Word, usize> = labels_at.collect();
    let mut open: Vec<usize> = vec![0];
    let mut kept: AHashSet<usize> = AHashSet::from_iter([0]);
    // Ways from the ends of blocks.
    let mut ways: AHashSet<(Word, Word)> = AHashSet::new();
    while let Some(number) = open.pop() {
        let Some(block) = blocks.get(number) else { continue };
        let Some(from) = block.label_id() else { continue };
        for inst in block.instructions.iter().rev().take(2) {
            for to in labels(inst) {
                if !matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge) {
                    ways.insert((from, to));
                }
                if let Some(&next) = at.get(&to)
                    && kept.insert(next)
                {
                    open.push(next);
                }
            }
        }
    }
    let mut number = 0;
    blocks.retain(|_| {
        number += 1;
        kept.contains(&(number - 1))
    });
    for block in blocks {
        let Some(here) = block.label_id() else { continue };
        for phi in block.instructions.iter_mut().take_while(|inst| inst.class.opcode == Op::Phi) {
            let pairs = phi.operands.chunks(2);
            let exists = |pair: &&[Operand]| {
                let from = pair.get(1).and_then(Operand::id_ref_any);
                from.is_some_and(|from| ways.contains(&(from, here)))
            };
            phi.operands = pairs.filter(exists).flatten().cloned().collect();
        }
    }
}
