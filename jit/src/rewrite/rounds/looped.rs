//! The rounds of a loop: its counters, and its body without the loop around it.
//!
//! # Guarantees
//! - in round `k` each value that the loop carries is `init + k * step`, in all rounds that store
//! - rounds that come to no access, since a counter was not stepped or the loop's test has failed, are those that
//!   [`Looped::must_last`] speaks of
//!
//! # Refuses
//! - loops that carry anything else, values that a loop leaves behind, exits other than the test

use ahash::AHashSet;
use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{Op, SelectionControl, Word};

use super::super::writer::{Result, Writer};
use crate::analysis::access::AccessKind;
use crate::analysis::cfg::Cfg;
use crate::analysis::expr::Passed;
use crate::analysis::unroll::Unrollable;
use crate::frontend::{defs::Defs, opcodes};
use crate::kernel::NormalKernel;

/// Most rounds of a loop, and most stores that are items.
pub(super) const MOST_ROUNDS: u32 = 64;

/// Most phis between a counter and its step.
const MOST_PHIS: usize = 8;

/// The loop that stores, and how its counters go.
pub(in crate::rewrite) struct Looped {
    parts: Unrollable,
    counters: Vec<Counter>,
    pub(super) count: u32,
    /// Not every invocation does all rounds: the test stays.
    is_tested: bool,
    pub(super) must_last: bool,
}

/// A value of the header that is `init + k * step` in round `k`, or `init - k * step`.
struct Counter {
    phi: Word,
    init: Word,
    step: Word,
    goes_down: bool,
}

fn ids(inst: &Instruction) -> Vec<Word> {
    inst.operands.iter().filter_map(Operand::id_ref_any).collect()
}

fn id(inst: &Instruction, n: usize) -> Option<Word> {
    inst.operands.get(n).and_then(Operand::id_ref_any)
}

impl Looped {
    pub(super) fn of(
        normal: &NormalKernel,
        function: &Function,
        most: &mut dyn FnMut(usize) -> Option<u32>,
    ) -> Result<Self> {
        let cfg = Cfg::new(function);
        let mut stores = normal.analysis.accesses.iter().filter(|access| access.kind != AccessKind::Read);
        let store = stores.next().ok_or("no store")?;
        let index = (0..cfg.loops.len())
            .find(|&index| cfg.loops[index].parent.is_none() && cfg.loops[index].blocks.contains(store.at.0))
            .ok_or("no loop around the store")?;
        let parts = Unrollable::with_continues(function, &cfg, index);
        let parts = parts.filter(|parts| parts.round.repeatable).ok_or("no loop that can be unrolled")?;
        let reader =
            Reader { normal, function, cfg: &cfg, index, parts: &parts, defs: Defs::new(&normal.module) };
        let header = *parts.prefix.first().ok_or("no header")?;
        let mut counters = Vec::new();
        let mut under: Vec<Passed> = Vec::new();
        let phis = function.blocks[header].instructions.iter();
        for phi in phis.filter(|inst| inst.class.opcode == Op::Phi) {
            let (counter, passed) = reader.counter(phi).ok_or("a loop that carries more than counters")?;
            counters.push(counter);
            under.extend(passed);
        }
        // A round that does not step a counter leaves what lies under the same branches to no later one.
        let accesses = normal.analysis.accesses.iter();
        let mut inside = accesses.filter(|access| parts.blocks.contains(&access.at.0));
        let is_under = inside.all(|access| {
            let is = |passed: &Passed| {
                let mut guards = access.guards.iter().filter(|guard| !guard.in_past_loop);
                guards.any(|guard| Passed { block: guard.block, taken: guard.holds } == *passed)
            };
            under.iter().all(is)
        });
        if !is_under && !mutant!(SkippedRoundsAct) {
            return Err("a loop with effects in iterations that do not step a counter");
        }
        let known = reader.constant_count(&counters);
        let count = match known {
            Some(count) => count,
            None => {
                // The test is asked in rounds that the kernel does not come to.
                let accesses = &normal.analysis.accesses;
                if accesses.iter().any(|access| parts.prefix.contains(&access.at.0)) {
                    return Err("a test that is made of what the loop loads");
                }
                most(index).ok_or("a loop whose iterations are not counted")?
            }
        };
        let count = count.saturating_sub(u32::from(mutant!(RoundsAreFewer)));
        if !(2..=MOST_ROUNDS).contains(&count) {
            return Err("a loop of one iteration, or of too many");
        }
        reader.leaves_nothing()?;
        let is_tested = known.is_none();
        Ok(Self { counters, count, is_tested, must_last: is_tested || !under.is_empty(), parts })
    }

    /// The body with one round in the place of the loop.
    pub(super) fn apart(&self, normal: &NormalKernel, writer: &mut Writer, round: Word) -> Result<Function> {
        let mut function = normal.module.functions.first().ok_or("no function")?.clone();
        self.straight(writer, &mut function)?;
        let u32 = writer.u32();
        for block in &mut function.blocks {
            let old = std::mem::take(&mut block.instructions);
            for inst in old {
                let counter = self.counters.iter().find(|counter| inst.result_id == Some(counter.phi));
                let Some(counter) = counter else {
                    block.instructions.push(inst);
                    continue;
                };
                let gone = writer.fresh();
                let operands = [round, counter.step].map(Operand::IdRef).to_vec();
                block.instructions.push(Instruction::new(Op::IMul, Some(u32), Some(gone), operands));
                let op = if counter.goes_down { Op::ISub } else { Op::IAdd };
                let operands = [counter.init, gone].map(Operand::IdRef).to_vec();
                block.instructions.push(Instruction::new(op, inst.result_type, inst.result_id, operands));
            }
        }
        Ok(function)
    }

    /// Takes the loop away from around its round.
    fn straight(&self, writer: &mut Writer, function: &mut Function) -> Result<()> {
        let parts = &self.parts;
        let cfg = Cfg::new(function);
        let (&header, &test) = parts.prefix.first().zip(parts.prefix.last()).ok_or("no header")?;
        let body = &mut function.blocks[header].instructions;
        let at = body.iter().position(|inst| inst.class.opcode == Op::LoopMerge).ok_or("no loop")?;
        let (merge, next) = id(&body[at], 0).zip(id(&body[at], 1)).ok_or("no merge block")?;
        body.remove(at);
        let merges = cfg.block_of_label(merge).ok_or("no merge block")?;
        let carries = function.blocks[merges].instructions.iter().any(|inst| inst.class.opcode == Op::Phi);
        if carries {
            return Err("a value that the loop leaves behind");
        }
        let body = &mut function.blocks[test].instructions;
        body.retain(|inst| inst.class.opcode != Op::SelectionMerge);
        let last = body.pop().ok_or("no test")?;
        if self.is_tested {
            let none = Operand::SelectionControl(SelectionControl::NONE);
            body.push(writer.effect(Op::SelectionMerge, vec![Operand::IdRef(merge), none]));
            let condition = id(&last, 0).ok_or("no test")?;
            let stays = id(&last, 1) == Some(parts.inside);
            let (yes, no) = if stays { (parts.inside, merge) } else { (merge, parts.inside) };
            body.push(writer.choose(condition, yes, no));
        } else {
            body.push(writer.branch(parts.inside));
        }
        *function.blocks[parts.latch].instructions.last_mut().ok_or("no latch")? = writer.branch(merge);
        if parts.continues {
            let next = cfg.block_of_label(next).ok_or("no continue target")?;
            if !mutant!(LoopsEndKernels) {
                ends(function, next)?;
            }
            returns(writer, function, next);
        }
        in_order(function);
        Ok(())
    }
}

/// Demands that nothing happens from a block on until the kernel returns.
fn ends(function: &Function, from: usize) -> Result<()> {
    let mut here = from;
    // Each block is come to once.
    for _ in 0..function.blocks.len() {
        let Some((last, rest)) = function.blocks[here].instructions.split_last() else { break };
        let is_idle = |inst: &Instruction| inst.class.opcode == Op::Phi || opcodes::is_pure(inst);
        if !rest.iter().all(is_idle) {
            break;
        }
        match last.class.opcode {
            Op::Return => return Ok(()),
            Op::Branch => {
                let to = id(last, 0);
                let block = function.blocks.iter().position(|block| block.label_id() == to);
                here = block.ok_or("a branch to nowhere")?;
            }
            _ => break,
        }
    }
    Err("a loop with early exits that is followed by other work")
}

/// Has what goes to the next round return.
fn returns(writer: &mut Writer, function: &mut Function, next: usize) {
    let Some(label) = function.blocks[next].label_id() else { return };
    let ends = || vec![Instruction::new(Op::Return, None, None, Vec::new())];
    let mut added = Vec::new();
    for (_, block) in function.blocks.iter_mut().enumerate().filter(|(at, _)| *at != next) {
        let leads = |inst: &Instruction| ids(inst).contains(&label) && inst.class.opcode != Op::Phi;
        if !block.instructions.iter().any(leads) {
            continue;
        }
        let Some(last) = block.instructions.last_mut() else { continue };
        if last.class.opcode == Op::Branch {
            *last = ends().remove(0);
            continue;
        }
        // A selection that meets there, or a side of one that leads there at once.
        let fresh = writer.fresh();
        let operands = block.instructions.iter_mut().rev().take(2).flat_map(|inst| &mut inst.operands);
        for operand in operands.filter(|operand| operand.id_ref_any() == Some(label)) {
            *operand = Operand::IdRef(fresh);
        }
        let start = Instruction::new(Op::Label, None, Some(fresh), Vec::new());
        added.push(Block { label: Some(start), instructions: ends() });
    }
    function.blocks.extend(added);
}

/// Drops blocks that nothing leads to, and puts the others in an order in which each comes behind all that lead to it.
fn in_order(function: &mut Function) {
    let cfg = Cfg::new(function);
    let mut place = vec![usize::MAX; function.blocks.len()];
    let (mut open, mut seen, mut left) = (vec![0], vec![false; function.blocks.len()], function.blocks.len());
    while let Some(&block) = open.last() {
        seen[block] = true;
        if let Some(&next) = cfg.successors[block].iter().find(|&&next| !seen[next]) {
            open.push(next);
            continue;
        }
        open.pop();
        left -= 1;
        place[block] = left;
    }
    // Where constructs end stays, whether or not they are left that way.
    let reached = function.blocks.iter().zip(&seen).filter(|&(_, seen)| *seen);
    let merges: AHashSet<Word> = reached
        .flat_map(|(block, _)| &block.instructions)
        .filter(|inst| matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge))
        .filter_map(|inst| id(inst, 0))
        .collect();
    let mut blocks: Vec<_> = std::mem::take(&mut function.blocks).into_iter().zip(place).collect();
    blocks.retain(|(block, place)| {
        *place != usize::MAX || block.label_id().is_some_and(|l| merges.contains(&l))
    });
    blocks.sort_by_key(|&(_, place)| place);
    function.blocks = blocks
        .into_iter()
        .map(|(mut block, place)| {
            if place == usize::MAX {
                block.instructions = vec![Instruction::new(Op::Unreachable, None, None, Vec::new())];
            }
            block
        })
        .collect();
}

/// Reads what a loop carries.
struct Reader<'a> {
    normal: &'a NormalKernel,
    function: &'a Function,
    cfg: &'a Cfg,
    /// Number of the loop.
    index: usize,
    parts: &'a Unrollable,
    defs: Defs<'a>,
}

impl<'a> Reader<'a> {
    /// What makes a value in the loop.
    fn made(&self, id: Word) -> Option<&'a Instruction> {
        let function = self.function;
        let blocks = self.parts.blocks.iter().flat_map(move |&block| &function.blocks[block].instructions);
        { blocks }.find(|inst| inst.result_id == Some(id))
    }

    fn constant(&self, id: Word) -> Option<u32> {
        self.defs.constant(id).and_then(|value| u32::try_from(value).ok())
    }

    /// A value that the loop carries, and the branches that a round takes if it steps that: none if all do.
    fn counter(&self, phi: &Instruction) -> Option<(Counter, Vec<Passed>)> {
        // A word of 32 bits.
        let word = self.defs.get(phi.result_type?)?;
        let is_word =
            word.class.opcode == Op::TypeInt && word.operands.first() == Some(&Operand::LiteralBit32(32));
        let id = phi.result_id.filter(|_| is_word)?;
        let (mut init, mut next) = (None, None);
        for pair in ids(phi).chunks(2) {
            let &[value, from] = pair else { return None };
            match self.cfg.block_of_label(from)? == self.parts.latch {
                true => next = Some(value),
                false if init.is_none() => init = Some(value),
                false => return None,
            }
        }
        let (init, next) = (init?, next?);
        if let Some((step, goes_down)) = self.step(next, id) {
            return Some((Counter { phi: id, init, step, goes_down }, Vec::new()));
        }
        let under = self.normal.analysis.exprs.stepped_under(id, self.index)?;
        let mut value = next;
        for _ in 0..MOST_PHIS {
            let inst = self.made(value).filter(|inst| inst.class.opcode == Op::Phi)?;
            let values = ids(inst);
            let mut others = values.chunks(2).filter_map(|pair| pair.first()).filter(|&&value| value != id);
            value = *others.next()?;
            if let Some((step, goes_down)) = self.step(value, id) {
                return Some((Counter { phi: id, init, step, goes_down }, under.to_vec()));
            }
        }
        None
    }

    /// By what a sum or a difference changes a counter: something that is made outside of the loop.
    fn step(&self, next: Word, counter: Word) -> Option<(Word, bool)> {
        let sum = self.made(next)?;
        let (step, goes_down) = match (sum.class.opcode, ids(sum).as_slice()) {
            (Op::IAdd, &[a, b]) if a == counter => (b, false),
            (Op::IAdd, &[a, b]) if b == counter => (a, false),
            (Op::ISub, &[a, b]) if a == counter => (b, true),
            _ => return None,
        };
        self.made(step).is_none().then_some((step, goes_down))
    }

    /// How many rounds there are, if a counter goes up from a constant by a constant while below a constant.
    fn constant_count(&self, counters: &[Counter]) -> Option<u32> {
        let test = self.function.blocks[*self.parts.prefix.last()?].instructions.last()?;
        let condition = self.made(*ids(test).first()?)?;
        let stays = ids(test).get(1) == Some(&self.parts.inside);
        let &[a, b] = ids(condition).as_slice() else { return None };
        let is_less = match condition.class.opcode {
            Op::ULessThan | Op::SLessThan => true,
            Op::UGreaterThanEqual | Op::SGreaterThanEqual => false,
            _ => return None,
        };
        let counter = counters.iter().find(|counter| counter.phi == a && !counter.goes_down)?;
        // One that some rounds do not step ends the loop in none of them.
        let next = self.made(a).and_then(|phi| {
            ids(phi).chunks(2).map(<[Word]>::to_vec).find(|pair| {
                pair.get(1).is_some_and(|&from| self.cfg.block_of_label(from) == Some(self.parts.latch))
            })
        })?;
        self.step(*next.first()?, a)?;
        let (first, step) = (self.constant(counter.init)?, self.constant(counter.step)?);
        let limit = self.constant(b)?;
        // All below what may be a sign.
        let counts = step > 0 && stays == is_less && first < limit && limit < 1 << 30 && step < 1 << 30;
        counts.then(|| (limit - first).div_ceil(step))
    }

    /// Demands that nothing made in a round is used behind the loop.
    fn leaves_nothing(&self) -> Result<()> {
        let blocks: AHashSet<usize> = self.parts.blocks.iter().copied().collect();
        let function = self.function;
        let inside: AHashSet<Word> = self
            .parts
            .blocks
            .iter()
            .flat_map(|&block| function.blocks[block].instructions.iter().filter_map(|inst| inst.result_id))
            .collect();
        let others = function.blocks.iter().enumerate().filter(|(at, _)| !blocks.contains(at));
        let mut used = others.flat_map(|(_, block)| &block.instructions).flat_map(ids);
        let is_used = used.any(|id| inside.contains(&id));
        if is_used { Err("a value that the loop leaves behind") } else { Ok(()) }
    }
}
