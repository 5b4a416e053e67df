//! Loops whose rounds are written out one after the other, all of them or several at once.
//!
//! # Requires
//! - loops that `analysis::unroll` describes, and the number of rounds that every invocation does of them; at most one more where
//!   all are written out, and then nothing but values before the test
//!
//! # Guarantees
//! - no branch of these rounds depends on the test any more; all else happens as often and in the same order
//! - whoever uses a value of the loop after it gets that of the last time the header was passed

use ahash::AHashMap;
use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{LoopControl, Op, SelectionControl, Word};

use super::JitError;
use super::link::Linker;
use crate::analysis::cfg::Cfg;
use crate::analysis::unroll::Unrollable;
use crate::plan::recipe::Unroll;

/// A loop on its way out.
struct Loop<'a> {
    how: Unroll,
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

    fn ids(&self) -> impl Iterator<Item = Word> {
        let blocks = self.parts.blocks.iter();
        blocks.flat_map(|&block| defined(self.function, block).chain(self.function.blocks[block].label_id()))
    }
}

/// How a copy of a round ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// The test says to go on; the next round has this label.
    GoesOn(Word),
    /// It goes on here, too, if the test says so; if not, there at once.
    Tested(Word),
    /// The test says to stop.
    Stops,
}

fn label(function: &Function, block: usize) -> Result<Word, JitError> {
    function.blocks[block].label_id().ok_or_else(|| JitError::new("link", "a block without a label"))
}

/// Ids that a block defines, its label left out.
fn defined(function: &Function, block: usize) -> impl Iterator<Item = Word> + '_ {
    function.blocks[block].instructions.iter().filter_map(|inst| inst.result_id)
}

fn branch(to: Word) -> Instruction {
    Instruction::new(Op::Branch, None, None, vec![Operand::IdRef(to)])
}

fn block(label: Word, instructions: Vec<Instruction>) -> Block {
    Block { label: Some(Instruction::new(Op::Label, None, Some(label), Vec::new())), instructions }
}

impl Linker<'_> {
    /// The body with the member's loops written out.
    pub(super) fn unrolled(&mut self, function: &Function) -> Result<Vec<Block>, JitError> {
        let cfg = Cfg::new(function);
        let mut loops: AHashMap<usize, Loop<'_>> = AHashMap::new();
        for &how in &self.member.unroll {
            let index = how.index() as usize;
            let parts = (cfg.loops.len() > index)
                .then(|| Unrollable::of(function, &cfg, index))
                .flatten()
                .ok_or_else(|| self.error(format!("loop {index} cannot be unrolled")))?;
            let header = parts.blocks[0];
            // Who comes from before the loop goes to the first round; who speaks of the header later means the last.
            let name = label(function, header)?;
            let (first, last) = (self.shared.builder.fresh(), self.mapped(name)?);
            self.map.insert(name, first);
            loops.insert(header, Loop { how, parts, function, first, last });
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
                    match one.how {
                        Unroll::Whole { sure, most, .. } => {
                            self.write_out(one, (sure, most), &mut out)?;
                        }
                        Unroll::Part { times, at_once, .. } => {
                            self.write_in_part(one, (times, at_once), &mut out)?;
                        }
                    }
                }
                None => out.push(self.block(function, block)?),
            }
        }
        Ok(out)
    }

    /// Writes out all rounds of a loop.
    fn write_out(
        &mut self,
        one: &Loop<'_>,
        (sure, most): (u32, u32),
        out: &mut Vec<Block>,
    ) -> Result<(), JitError> {
        let meant: Vec<(Word, Word)> =
            one.ids().map(|id| Ok((id, self.mapped(id)?))).collect::<Result<_, _>>()?;
        let phis: Vec<Word> = self.incoming(one, false)?;
        // What the phis of the header are the next time it is passed, and from where.
        let mut carried: Vec<Vec<(Word, Word)>> = phis.into_iter().map(|value| vec![(value, 0)]).collect();
        let mut name = one.first;
        for round in 0..most {
            let next = if round + 1 == most { one.last } else { self.shared.builder.fresh() };
            let tested = round >= sure && !mutant!(TailIsFull);
            let ends = if tested { Ends::Tested(next) } else { Ends::GoesOn(next) };
            let values: Vec<Word> = carried.iter().filter_map(|of| Some(of.first()?.0)).collect();
            self.rounds.insert(one.how.index(), round);
            let again = self.round(one, name, &values, ends, out)?;
            let from = self.mapped(label(one.function, one.parts.latch)?)?;
            let test = one.parts.prefix.last().copied().unwrap_or(one.parts.blocks[0]);
            let stopped = self.mapped(label(one.function, test)?)?;
            carried = again.into_iter().map(|value| vec![(value, from)]).collect();
            if tested {
                carried.iter_mut().zip(values).for_each(|(of, value)| of.push((value, stopped)));
            }
            name = next;
        }
        // Only the test is passed once more.
        self.map.extend(meant);
        self.map.insert(label(one.function, one.parts.blocks[0])?, one.last);
        self.rounds.insert(one.how.index(), most);
        for &block in &one.parts.prefix {
            let copy = self.copy(one, block, &carried, Ends::Stops)?;
            out.push(copy);
        }
        Ok(())
    }

    /// Writes `times` by `at_once` rounds of a loop, and the loop behind them.
    fn write_in_part(
        &mut self,
        one: &Loop<'_>,
        (times, at_once): (u32, u32),
        out: &mut Vec<Block>,
    ) -> Result<(), JitError> {
        let function = one.function;
        let meant: Vec<(Word, Word)> =
            one.ids().map(|id| Ok((id, self.mapped(id)?))).collect::<Result<_, _>>()?;
        let before = self.incoming(one, false)?;
        let builder = &mut self.shared.builder;
        let [header, begin, latch, rest] = std::array::from_fn(|_| builder.fresh());
        let (count, counted, more) = (builder.fresh(), builder.fresh(), builder.fresh());
        let (number, boolean) = (builder.u32(), builder.bool());
        let [zero, by, limit] = [0, 1, times].map(|n| builder.constant(n));
        let values: Vec<Word> = before.iter().map(|_| builder.fresh()).collect();
        let types = one.phis().map(|phi| match phi.result_type {
            Some(ty) => self.mapped(ty),
            None => Err(self.error("a phi without a type")),
        });
        let types: Vec<Word> = types.collect::<Result<_, _>>()?;
        out.push(block(one.first, vec![branch(header)]));
        let place = out.len();
        let mut name = begin;
        let mut carried = values.clone();
        for round in 0..at_once {
            let next = if round + 1 == at_once { latch } else { self.shared.builder.fresh() };
            carried = self.round(one, name, &carried, Ends::GoesOn(next), out)?;
            name = next;
        }
        let phi = |ty: Word, id: Word, first: Word, again: Word| {
            let operands = [first, one.first, again, latch].map(Operand::IdRef).to_vec();
            Instruction::new(Op::Phi, Some(ty), Some(id), operands)
        };
        let mut begins = vec![phi(number, count, zero, counted)];
        for (n, &ty) in types.iter().enumerate() {
            begins.push(phi(ty, values[n], before[n], carried[n]));
        }
        let ids = |ids: &[Word]| ids.iter().copied().map(Operand::IdRef).collect::<Vec<_>>();
        begins.push(Instruction::new(Op::ULessThan, Some(boolean), Some(more), ids(&[count, limit])));
        let mut merge = ids(&[rest, latch]);
        merge.push(Operand::LoopControl(LoopControl::DONT_UNROLL));
        begins.push(Instruction::new(Op::LoopMerge, None, None, merge));
        begins.push(Instruction::new(Op::BranchConditional, None, None, ids(&[more, begin, rest])));
        out.insert(place, block(header, begins));
        let add = Instruction::new(Op::IAdd, Some(number), Some(counted), ids(&[count, by]));
        out.push(block(latch, vec![add, branch(header)]));
        out.push(block(rest, vec![branch(one.last)]));
        // The loop, which goes on with what these rounds have left.
        self.map.extend(meant);
        self.map.insert(label(function, one.parts.blocks[0])?, one.last);
        for &number in &one.parts.blocks {
            let mut copy = self.block(function, number)?;
            if number == one.parts.blocks[0] {
                let from = self.mapped(label(function, one.parts.latch)?)?;
                let phis = copy.instructions.iter_mut().take_while(|inst| inst.class.opcode == Op::Phi);
                for (phi, &value) in phis.zip(&values) {
                    for pair in phi.operands.chunks_mut(2) {
                        if pair.get(1) != Some(&Operand::IdRef(from)) {
                            pair.clone_from_slice(&[Operand::IdRef(value), Operand::IdRef(rest)]);
                        }
                    }
                }
            }
            self.written(function, number, &[])?;
            out.push(copy);
        }
        Ok(())
    }

    /// Writes one round under names of its own; returns what the phis of the header are after it.
    fn round(
        &mut self,
        one: &Loop<'_>,
        name: Word,
        values: &[Word],
        ends: Ends,
        out: &mut Vec<Block>,
    ) -> Result<Vec<Word>, JitError> {
        for id in one.ids() {
            let new = self.shared.builder.fresh();
            self.map.insert(id, new);
        }
        self.map.insert(label(one.function, one.parts.blocks[0])?, name);
        let carried: Vec<Vec<(Word, Word)>> = values.iter().map(|&value| vec![(value, 0)]).collect();
        for &block in &one.parts.blocks {
            let copy = self.copy(one, block, &carried, ends)?;
            out.push(copy);
        }
        self.incoming(one, true)
    }

    /// What the phis of the header are, coming from before the loop or from its latch.
    fn incoming(&self, one: &Loop<'_>, again: bool) -> Result<Vec<Word>, JitError> {
        let latch = label(one.function, one.parts.latch)?;
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

    /// One block of one round; `carried` is what the phis of the header are, and from where if there are several ways.
    fn copy(
        &mut self,
        one: &Loop<'_>,
        number: usize,
        carried: &[Vec<(Word, Word)>],
        ends: Ends,
    ) -> Result<Block, JitError> {
        let function = one.function;
        let is_header = number == one.parts.blocks[0];
        let mut copies = Vec::new();
        if is_header {
            for (phi, values) in one.phis().zip(carried) {
                let (Some(id), Some(ty)) = (phi.result_id, phi.result_type) else { continue };
                let ty = self.mapped(ty)?;
                self.value_types.insert(id, ty);
                if ends != Ends::Stops {
                    self.map.extend(values.first().map(|&(value, _)| (id, value)));
                    continue;
                }
                // Phis before the loop may have named it already.
                let meant = self.mapped(id)?;
                let (op, operands) = match values.as_slice() {
                    &[(value, _)] => (Op::CopyObject, vec![Operand::IdRef(value)]),
                    several => (
                        Op::Phi,
                        several.iter().flat_map(|&(v, from)| [v, from]).map(Operand::IdRef).collect(),
                    ),
                };
                copies.push(Instruction::new(op, Some(ty), Some(meant), operands));
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
        match ends {
            Ends::Tested(next) if is_test => self.test(one, &mut block, next)?,
            Ends::GoesOn(_) if is_test => end_in(&mut block, self.mapped(one.parts.inside)?),
            Ends::Stops if is_test => end_in(&mut block, self.mapped(one.parts.out)?),
            Ends::GoesOn(next) | Ends::Tested(next) if number == one.parts.latch => end_in(&mut block, next),
            _ => {}
        }
        let phis: Vec<Word> = match is_header && ends != Ends::Stops {
            true => one.phis().filter_map(|phi| phi.result_id).collect(),
            false => Vec::new(),
        };
        self.written(function, number, &phis)?;
        Ok(block)
    }

    /// Lets the test decide whether the round is done.
    fn test(&self, one: &Loop<'_>, block: &mut Block, next: Word) -> Result<(), JitError> {
        let out = self.mapped(one.parts.out)?;
        let Some(mut last) = block.instructions.pop() else { return Ok(()) };
        let leaves = last.operands.iter_mut().skip(1).filter(|operand| **operand == Operand::IdRef(out));
        leaves.for_each(|operand| *operand = Operand::IdRef(next));
        let merge = vec![Operand::IdRef(next), Operand::SelectionControl(SelectionControl::NONE)];
        block.instructions.push(Instruction::new(Op::SelectionMerge, None, None, merge));
        block.instructions.push(last);
        Ok(())
    }

    /// Notes under which ids a block's values were written; `without` have none of their own.
    fn written(&mut self, function: &Function, number: usize, without: &[Word]) -> Result<(), JitError> {
        for id in defined(function, number).filter(|id| !without.contains(id)) {
            let new = self.mapped(id)?;
            self.copies.entry(id).or_default().push(new);
        }
        Ok(())
    }
}

/// Replaces what a block ends in by a branch.
fn end_in(block: &mut Block, target: Word) {
    block.instructions.pop();
    block.instructions.push(branch(target));
}
