//! Returns of a body that is put in front of other code: they lead there.
//!
//! # Requires
//! - the blocks of one structured function, the entry block first
//!
//! # Guarantees
//! - a selection with one side that always returns now encloses everything after it, so that it is still one construct
//!
//! # Leaves alone
//! - returns that only one of the ways through a side comes to

use ahash::AHashMap;
use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{Op, SelectionControl, Word};
use smallvec::SmallVec;

use crate::rewrite::writer::Writer;

/// Has returns lead to `next`. Gives the blocks in which selections end that have become longer, innermost first.
pub(super) fn lead_to(writer: &mut Writer, function: &mut Function, next: Word) -> Vec<Block> {
    let at: AHashMap<Word, usize> =
        function.blocks.iter().enumerate().filter_map(|(at, block)| Some((block.label_id()?, at))).collect();
    // Branches to a block: of one that several guards share, none may be sent elsewhere.
    let mut branches = vec![0; function.blocks.len()];
    for last in function.blocks.iter().filter_map(|block| block.instructions.last()) {
        let targets = last.operands.iter().filter_map(|operand| at.get(&operand.id_ref_any()?));
        targets.for_each(|&target| branches[target] += 1);
    }
    let mut joins = Vec::new();
    // Where a way begins, and where a return on it is to go.
    let mut ways = vec![(0, next)];
    // Each block is come to once: what follows a construct comes after it.
    for _ in 0..function.blocks.len() {
        let Some((here, target)) = ways.pop() else { break };
        let Some([.., last]) = function.blocks.get(here).map(|block| block.instructions.as_slice()) else {
            continue;
        };
        let Some((merge, sides)) = construct(function, &at, here) else {
            match last.class.opcode {
                Op::Branch => ways.extend(id(last, 0).and_then(|to| at.get(&to)).map(|to| (*to, target))),
                Op::Return => set_last(function, here, writer.branch(target)),
                _ => {}
            }
            continue;
        };
        let always_returns =
            |side: usize| side != merge && branches[side] == 1 && !reaches(function, &at, side, merge);
        let out: SmallVec<[usize; 2]> = sides.into_iter().filter(|side| always_returns(*side)).collect();
        // What comes after is not the end of a construct any more: only one block may lead there.
        if sides[0] == sides[1] || out.is_empty() || branches[merge] + out.len() != 2 {
            ways.push((merge, target));
            continue;
        }
        let join = writer.fresh();
        let ends_at = vec![Operand::IdRef(join), Operand::SelectionControl(SelectionControl::NONE)];
        let length = function.blocks[here].instructions.len();
        function.blocks[here].instructions[length - 2] = writer.effect(Op::SelectionMerge, ends_at);
        let label = Instruction::new(Op::Label, None, Some(join), Vec::new());
        joins.push(Block { label: Some(label), instructions: vec![writer.branch(target)] });
        // The other side leads on to what comes after.
        ways.extend(sides.map(|side| (side, join)));
    }
    joins.reverse();
    joins
}

/// The merge block and the sides of a selection that a block opens with a condition; of another construct its merge block twice
/// more. None of a block that opens nothing.
fn construct(function: &Function, at: &AHashMap<Word, usize>, block: usize) -> Option<(usize, [usize; 2])> {
    let [.., merge, last] = function.blocks[block].instructions.as_slice() else { return None };
    let to = |label: Option<Word>| at.get(&label?).copied();
    if !matches!(merge.class.opcode, Op::SelectionMerge | Op::LoopMerge) {
        return None;
    }
    let after = to(id(merge, 0))?;
    if merge.class.opcode == Op::LoopMerge || last.class.opcode != Op::BranchConditional {
        return Some((after, [after; 2]));
    }
    Some((after, [to(id(last, 1))?, to(id(last, 2))?]))
}

/// Whether a way leads from one block to another.
fn reaches(function: &Function, at: &AHashMap<Word, usize>, from: usize, to: usize) -> bool {
    let (mut seen, mut ways) = (vec![false; function.blocks.len()], vec![from]);
    while let Some(here) = ways.pop() {
        if here == to {
            return true;
        }
        if std::mem::replace(&mut seen[here], true) {
            continue;
        }
        let Some(last) = function.blocks[here].instructions.last() else { continue };
        ways.extend(last.operands.iter().filter_map(|operand| at.get(&operand.id_ref_any()?)));
    }
    false
}

fn id(inst: &Instruction, n: usize) -> Option<Word> {
    inst.operands.get(n).and_then(Operand::id_ref_any)
}

fn set_last(function: &mut Function, block: usize, to: Instruction) {
    if let Some(last) = function.blocks[block].instructions.last_mut() {
        *last = to;
    }
}
