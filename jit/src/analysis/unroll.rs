//! Loops that can be unrolled, round after round.
//!
//! # Requires
//! - structured control flow
//!
//! # Guarantees
//! - the loop is left only by its test, which stands before everything a round does
//! - without the loop around it, what a round does is structured control flow still

use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::Op;

use super::cfg::Cfg;
use crate::frontend::opcodes;

/// Where the parts of such a loop are: blocks by their index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unrollable {
    /// All its blocks, and merge blocks in it that nothing leads to, in the order of the module.
    pub(crate) blocks: Vec<usize>,
    /// From the header to the test.
    pub(crate) prefix: Vec<usize>,
    /// The block that goes back to the header.
    pub(crate) latch: usize,
    /// Label that is next if the test says to go on.
    pub(crate) inside: u32,
    /// Label that is next if it says to stop.
    pub(crate) out: u32,
    /// What a round is made of.
    pub(crate) round: Round,
    /// Several ways lead to the next round: some of them out of constructs.
    pub(crate) continues: bool,
}

/// What one round of a loop is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// Its instructions.
    pub(crate) weight: u32,
    /// It loads something.
    pub(crate) loads: bool,
    /// It stores something.
    pub(crate) stores: bool,
    /// Up to the test it has no effects: it may come there twice.
    pub(crate) repeatable: bool,
}

/// Whether an instruction does the same each time, and nothing else.
fn is_repeatable(inst: &Instruction) -> bool {
    let op = inst.class.opcode;
    let moves = matches!(
        op,
        Op::Phi
            | Op::Load
            | Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::ArrayLength
            | Op::LoopMerge
            | Op::SelectionMerge
            | Op::Branch
            | Op::BranchConditional
    );
    moves || opcodes::is_pure(inst) || mutant!(TestsHaveNoEffects)
}

impl Unrollable {
    /// The parts of loop `index`, if it can be unrolled.
    pub(crate) fn of(function: &Function, cfg: &Cfg, index: usize) -> Option<Self> {
        // A jump to the next round from inside of a construct would be a jump out of it.
        Self::with_continues(function, cfg, index).filter(|parts| !parts.continues)
    }

    /// The parts of loop `index`, if it can be unrolled except for jumps to the next round.
    pub(crate) fn with_continues(function: &Function, cfg: &Cfg, index: usize) -> Option<Self> {
        let the_loop = &cfg.loops[index];
        let header = the_loop.header;
        let inside = |block: usize| the_loop.blocks.contains(block);
        let instructions = |block: usize| function.blocks[block].instructions.as_slice();
        let id = |operand: Option<&Operand>| operand.and_then(Operand::id_ref_any);
        let merges = instructions(header).iter().find(|inst| inst.class.opcode == Op::LoopMerge)?;
        let merge = id(merges.operands.first())?;
        let next = cfg.block_of_label(id(merges.operands.get(1))?)?;
        if next == header {
            return None;
        }
        let continues = cfg.predecessors[next].iter().filter(|&&block| inside(block)).count() != 1;
        let mut prefix = vec![header];
        let (on_true, on_false) = loop {
            let block = *prefix.last()?;
            let last = instructions(block).last()?;
            match last.class.opcode {
                Op::BranchConditional => break (id(last.operands.get(1))?, id(last.operands.get(2))?),
                Op::Branch => {
                    let target = cfg.block_of_label(id(last.operands.first())?)?;
                    if !inside(target) || target == header || cfg.predecessors[target].len() != 1 {
                        return None;
                    }
                    prefix.push(target);
                }
                _ => return None,
            }
        };
        let test = *prefix.last()?;
        let stays = |label: u32| cfg.block_of_label(label).is_some_and(inside);
        let (goes_on, out) = match (stays(on_true), stays(on_false)) {
            (true, false) => (on_true, on_false),
            (false, true) => (on_false, on_true),
            _ => return None,
        };
        // Some compilers write the test as a selection with one side that only leaves the loop.
        let selection = instructions(test).iter().find(|inst| inst.class.opcode == Op::SelectionMerge);
        let meets = selection.map(|inst| id(inst.operands.first()));
        if out != merge {
            let block = cfg.block_of_label(out)?;
            let [last] = instructions(block) else { return None };
            let leaves = last.class.opcode == Op::Branch && id(last.operands.first()) == Some(merge);
            if !leaves || cfg.predecessors[block].len() != 1 {
                return None;
            }
        }
        if meets.is_some_and(|meets| meets != Some(goes_on)) {
            return None;
        }
        let latches: Vec<usize> =
            cfg.predecessors[header].iter().copied().filter(|&block| inside(block)).collect();
        let &[latch] = latches.as_slice() else { return None };
        let returns = instructions(latch).last()?.class.opcode == Op::Branch;
        if !returns || !the_loop.is_left_only_from(test, cfg) {
            return None;
        }
        // Merge blocks that nothing leads to are no part of the loop, and each round has to have its own.
        let mut ends: Vec<usize> = Vec::new();
        for block in (0..function.blocks.len()).filter(|&block| inside(block) && block != header) {
            let mut named = instructions(block).iter();
            let Some(merge) =
                named.find(|inst| matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge))
            else {
                continue;
            };
            let labels = merge.operands.iter().filter_map(Operand::id_ref_any);
            for block in labels.map(|label| cfg.block_of_label(label)) {
                let block = block?;
                if inside(block) {
                    continue;
                }
                let is_end = matches!(instructions(block), [last] if last.class.opcode == Op::Unreachable);
                if !is_end || !cfg.predecessors[block].is_empty() {
                    return None;
                }
                ends.push(block);
            }
        }
        let is_part = |block: &usize| inside(*block) || ends.contains(block);
        let blocks: Vec<usize> = (0..function.blocks.len()).filter(is_part).collect();
        let round = Round {
            weight: blocks.iter().map(|&block| instructions(block).len() as u32).sum(),
            loads: blocks.iter().flat_map(|&b| instructions(b)).any(|inst| inst.class.opcode == Op::Load),
            stores: blocks.iter().flat_map(|&b| instructions(b)).any(|inst| inst.class.opcode == Op::Store),
            repeatable: prefix.iter().flat_map(|&block| instructions(block)).all(is_repeatable),
        };
        Some(Self { blocks, prefix, latch, inside: goes_on, out, round, continues })
    }
}
