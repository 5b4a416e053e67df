//! Loops whose rounds are written out one after the other.
//!
//! # Requires
//! - loops that `analysis::unroll` describes, and the exact number of their rounds
//!
//! # Guarantees
//! - no branch of such a loop depends on its test any more; all else happens as often and in the same order
//! - whoever uses a value of the loop after it gets that of the last time the header was passed

use ahash::AHashMap;
use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::JitError;
use super::link::Linker;
use crate::analysis::cfg::Cfg;
use crate::analysis::unroll::Unrollable;

/// A loop on its way out.
struct Loop<'a> {
    index: u32,
    rounds: u32,
    parts: Unrollable,
    function: &'a Function,
    /// Ids of the header's label that precede the first round and follow the last.
    first: Word,
    last: Word,
}

impl Loop<'_> {
    fn header(&self) -> &Block {
        &self.function.blocks[self.parts.blocks[0]]
    }

    fn phis(&self) -> impl Iterator<Item = &Instruction> {
        self.header().instructions.iter().take_while(|inst| inst.class.opcode == Op::Phi)
    }

    /// Blocks of a round; after the last only the test is passed once more.
    fn blocks(&self, round: u32) -> &[usize] {
        if round == self.rounds { &self.parts.prefix } else { &self.parts.blocks }
    }
}

fn label(function: &Function, block: usize) -> Word {
    function.blocks[block].label_id().unwrap_or(0)
}

/// Ids that a block defines, its label left out.
fn defined(function: &Function, block: usize) -> impl Iterator<Item = Word> + '_ {
    function.blocks[block].instructions.iter().filter_map(|inst| inst.result_id)
}

fn branch(to: Word) -> Instruction {
    Instruction::new(Op::Branch, None, None, vec![Operand::IdRef(to)])
}

impl Linker<'_> {
    /// The body with the member's loops written out.
    pub(super) fn unrolled(&mut self, function: &Function) -> Result<Vec<Block>, JitError> {
        let cfg = Cfg::new(function);
        let mut loops: AHashMap<usize, Loop<'_>> = AHashMap::new();
        for &(index, rounds) in &self.member.unroll {
            let parts = (cfg.loops.len() > index as usize)
                .then(|| Unrollable::of(function, &cfg, index as usize))
                .flatten()
                .ok_or_else(|| self.error(format!("loop {index} cannot be written out")))?;
            let header = parts.blocks[0];
            // Who comes from before the loop goes to the first round; who speaks of the header later means the last.
            let name = label(function, header);
            let (first, last) = (self.shared.builder.fresh(), self.mapped(name)?);
            self.map.insert(name, first);
            loops.insert(header, Loop { index, rounds, parts, function, first, last });
        }
        let mut out = Vec::with_capacity(function.blocks.len());
        let mut done = vec![false; function.blocks.len()];
        for block in 0..function.blocks.len() {
            if done[block] {
                continue;
            }
            match loops.get(&block) {
                Some(one) => {
                    one.parts.blocks.iter().for_each(|&block| done[block] = true);
                    self.write_out(one, &mut out)?;
                }
                None => out.push(self.block(function, block)?),
            }
        }
        Ok(out)
    }

    fn write_out(&mut self, one: &Loop<'_>, out: &mut Vec<Block>) -> Result<(), JitError> {
        let function = one.function;
        let ids = one.parts.blocks.iter().flat_map(|&b| defined(function, b).chain([label(function, b)]));
        let last: Vec<(Word, Word)> = ids.map(|id| Ok((id, self.mapped(id)?))).collect::<Result<_, _>>()?;
        let mut carried = self.incoming(one, false)?;
        let mut name = one.first;
        for round in 0..=one.rounds {
            let is_last = round == one.rounds;
            for &(id, meant) in &last {
                let new = if is_last { meant } else { self.shared.builder.fresh() };
                self.map.insert(id, new);
            }
            let header = label(function, one.parts.blocks[0]);
            self.map.insert(header, if is_last { one.last } else { name });
            let next = if round + 1 == one.rounds { one.last } else { self.shared.builder.fresh() };
            self.rounds.insert(one.index, round);
            for &block in one.blocks(round) {
                let copy = self.copy(one, block, is_last, &carried, next)?;
                out.push(copy);
            }
            if !is_last {
                carried = self.incoming(one, true)?;
            }
            name = next;
        }
        Ok(())
    }

    /// What the phis of the header are, coming from before the loop or from its latch.
    fn incoming(&self, one: &Loop<'_>, again: bool) -> Result<Vec<Word>, JitError> {
        let latch = label(one.function, one.parts.latch);
        one.phis()
            .map(|phi| {
                let mut pairs = phi
                    .operands
                    .chunks(2)
                    .filter_map(|pair| Some((pair.first()?.id_ref_any()?, pair.get(1)?.id_ref_any()?)));
                let found = pairs.find(|&(_, from)| (from == latch) == again);
                self.mapped(found.ok_or_else(|| self.error("phi without an edge"))?.0)
            })
            .collect()
    }

    /// One block of one round.
    fn copy(
        &mut self,
        one: &Loop<'_>,
        number: usize,
        is_last: bool,
        carried: &[Word],
        next: Word,
    ) -> Result<Block, JitError> {
        let function = one.function;
        let is_header = number == one.parts.blocks[0];
        let mut copies = Vec::new();
        if is_header {
            for (phi, &value) in one.phis().zip(carried) {
                let (Some(id), Some(ty)) = (phi.result_id, phi.result_type) else { continue };
                let ty = self.mapped(ty)?;
                self.value_types.insert(id, ty);
                if is_last {
                    // Phis before the loop may have named it already.
                    let meant = self.mapped(id)?;
                    let operands = vec![Operand::IdRef(value)];
                    copies.push(Instruction::new(Op::CopyObject, Some(ty), Some(meant), operands));
                } else {
                    self.map.insert(id, value);
                }
            }
        }
        let mut block = self.block(function, number)?;
        let is_test = Some(&number) == one.parts.prefix.last();
        block.instructions.retain(|inst| match inst.class.opcode {
            Op::Phi | Op::LoopMerge => !is_header,
            Op::SelectionMerge => !is_test,
            _ => true,
        });
        block.instructions.splice(0..0, copies);
        let ends = if is_test { Some(if is_last { one.parts.out } else { one.parts.inside }) } else { None };
        let ends = ends.map(|label| self.mapped(label)).transpose()?;
        let ends = ends.or((number == one.parts.latch).then_some(next));
        if let Some(target) = ends {
            block.instructions.pop();
            block.instructions.push(branch(target));
        }
        for id in defined(function, number) {
            let is_phi = is_header && one.phis().any(|phi| phi.result_id == Some(id));
            if !is_phi || is_last {
                let new = self.mapped(id)?;
                self.copies.entry(id).or_default().push(new);
            }
        }
        Ok(block)
    }
}
