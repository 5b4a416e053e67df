//! Counters of loops: by how much they step in a round, and what they are compared with.

use rspirv::spirv::Op;

use super::build::{Builder, Definition, id_at};
use super::exits::Test;
use super::expr::{BinaryOp, GoesOn, LoopBound, Node, NodeId};

/// What is added to a counter before it is compared, or taken from it: the operation, and an id as seen from a block.
type Shift = (BinaryOp, u32, usize);

/// Most sums between a counter and what is compared.
const MAX_SHIFTS: usize = 8;
/// Most choices, one in the other, between the ways through a round that each step a counter.
const MAX_CHOICES: u32 = 4;

/// How a test compares a counter while the loop goes on.
struct Compared {
    limit: u32,
    shifts: Vec<Shift>,
    goes_on: GoesOn,
    signed: bool,
}

impl Builder<'_> {
    /// The loop-invariant `step` of `next = counter + step`, or of `next = counter - (-step)`.
    pub(super) fn step_of(&mut self, next: u32, counter: u32, own_loop: usize) -> Option<NodeId> {
        self.step_within(next, counter, own_loop, MAX_CHOICES)
    }

    fn step_within(&mut self, next: u32, counter: u32, own_loop: usize, choices: u32) -> Option<NodeId> {
        let next = self.source(next);
        let Definition::Local { block, inst } = self.definitions.get(&next).copied()? else {
            return None;
        };
        if inst.class.opcode == Op::Phi {
            // A step that each way through the round takes by itself, as `continue` has it from some compilers. What the loop's own header
            // carries is of the round before.
            let the_loop = &self.cfg.loops[own_loop];
            let is_of_round = the_loop.blocks.contains(block) && block != the_loop.header;
            if !is_of_round || choices == 0 {
                return None;
            }
            let ways: Vec<u32> =
                (0..inst.operands.len()).step_by(2).filter_map(|at| id_at(inst, at)).collect();
            let (&first, others) = ways.split_first()?;
            let step = self.step_within(first, counter, own_loop, choices - 1)?;
            let is_same = |&way: &u32| self.step_within(way, counter, own_loop, choices - 1) == Some(step);
            return (others.iter().all(is_same) || mutant!(OneWayStepsForAll)).then_some(step);
        }
        let (a, b) = (id_at(inst, 0)?, id_at(inst, 1)?);
        let step = match inst.class.opcode {
            Op::IAdd | Op::ISub if self.source(a) == counter => b,
            Op::IAdd if self.source(b) == counter => a,
            _ => return None,
        };
        if !self.is_invariant(step, own_loop) {
            return None;
        }
        let step = self.scalar(step, block);
        if inst.class.opcode == Op::IAdd {
            return Some(step);
        }
        let width = self.exprs.get(step).width();
        let zero = self.exprs.constant(0, width);
        Some(self.exprs.add(Node::Binary { op: BinaryOp::Sub, width, a: zero, b: step }))
    }

    /// Whether a value is the same in every round: defined outside, or made of nothing that changes.
    fn is_invariant(&mut self, id: u32, own_loop: usize) -> bool {
        match self.definitions.get(&id) {
            Some(Definition::Global(_)) => true,
            Some(Definition::Local { block, .. }) => {
                let block = *block;
                if !self.cfg.loops[own_loop].blocks.contains(block) {
                    return true;
                }
                // A push constant, say, that is loaded again in each round.
                let node = self.scalar(id, block);
                self.exprs.is_fixed(node)
            }
            None => false,
        }
    }

    /// The test that the rounds of a loop are counted by: the first that compares what its header carries, or what becomes of that
    /// in a round, with a constant, which bounds the loop whatever the numbers of a call are; else with anything; else the first.
    pub(super) fn choose_test(&self, own_loop: usize) -> Option<Test> {
        let tests = self.cfg.tests_of(self.function, own_loop);
        let phis = self.phis(own_loop);
        let is_counted = |side: u32| phis.iter().any(|&phi| self.is_near(side, phi, 3));
        let is_constant = |side: u32| matches!(self.definitions.get(&self.source(side)), Some(Definition::Global(inst)) if inst.class.opcode == Op::Constant);
        let compares = |test: &Test, other: &dyn Fn(u32) -> bool| {
            self.parts_of(test.condition, test.stays).iter().any(|&(condition, _)| {
                let Some(&Definition::Local { inst, .. }) = self.definitions.get(&condition) else {
                    return false;
                };
                let (Some(a), Some(b)) = (id_at(inst, 0), id_at(inst, 1)) else { return false };
                is_counted(a) && other(b) || is_counted(b) && other(a)
            })
        };
        let bounded = tests.iter().find(|test| compares(test, &is_constant));
        let counted = || tests.iter().find(|test| compares(test, &|_| true));
        bounded.or_else(counted).or(tests.first()).copied()
    }

    /// Whether a value is what a loop's header carries, or a few operations away from it.
    fn is_near(&self, value: u32, phi: u32, depth: u32) -> bool {
        let value = self.source(value);
        let operands = |inst: &rspirv::dr::Instruction| {
            let parts = [id_at(inst, 0), id_at(inst, 1)];
            parts.into_iter().flatten().any(|id| self.is_near(id, phi, depth - 1))
        };
        value == phi
            || depth > 0
                && matches!(self.definitions.get(&value), Some(Definition::Local { inst, .. })
                    if inst.class.opcode != Op::Phi && operands(inst))
    }

    /// Reads how the counter compares with a limit while the loop goes on off the branch that decides that, which every
    /// round that another one follows has passed.
    pub(super) fn bound_of(&mut self, counter: u32, init: NodeId, own_loop: usize) -> Option<LoopBound> {
        let cfg = self.cfg;
        let the_loop = &cfg.loops[own_loop];
        let test = self.tests[own_loop]?;
        let parts = self.parts_of(test.condition, test.stays);
        let compared = { &parts }
            .iter()
            .find_map(|&(condition, holds)| self.limit_of(condition, holds, counter, own_loop))?;
        let limit = self.scalar(compared.limit, the_loop.header);
        let first = self.first_of(init, &compared.shifts);
        let only_exit = parts.len() == 1 && the_loop.is_left_only_from(test.block, cfg);
        let only_exit = only_exit || mutant!(OtherExitsAreNotTaken);
        let Compared { goes_on, signed, .. } = compared;
        Some(LoopBound { first, limit, goes_on, signed, only_exit })
    }

    /// What a test compares in the first round, of a counter that begins with `init`.
    fn first_of(&mut self, init: NodeId, shifts: &[Shift]) -> NodeId {
        let mut first = init;
        for &(op, by, block) in shifts.iter().filter(|_| !mutant!(SteppedIsNotStepped)) {
            let width = self.exprs.get(first).width();
            let b = self.scalar(by, block);
            first = self.exprs.add(Node::Binary { op, width, a: first, b });
        }
        first
    }

    /// What is added to a counter, in this order, to get a value, each of it the same in all rounds: what it has become behind
    /// its step, say. Nothing for another value.
    fn shifts_of(&mut self, value: u32, counter: u32, own_loop: usize) -> Option<Vec<Shift>> {
        let mut shifts = Vec::new();
        let mut value = self.source(value);
        while value != counter {
            let Definition::Local { block, inst } = self.definitions.get(&value).copied()? else {
                return None;
            };
            let (a, b) = (id_at(inst, 0)?, id_at(inst, 1)?);
            if shifts.len() == MAX_SHIFTS || !self.cfg.loops[own_loop].blocks.contains(block) {
                return None;
            }
            let (op, sum, by) = match inst.class.opcode {
                Op::IAdd if self.is_invariant(b, own_loop) => (BinaryOp::Add, a, b),
                Op::IAdd if self.is_invariant(a, own_loop) => (BinaryOp::Add, b, a),
                Op::ISub if self.is_invariant(b, own_loop) => (BinaryOp::Sub, a, b),
                _ => return None,
            };
            shifts.push((op, by, block));
            value = self.source(sum);
        }
        shifts.reverse();
        Some(shifts)
    }

    /// What a condition compares a counter with, and their relation where the condition has the value `holds`.
    fn limit_of(&mut self, condition: u32, holds: bool, counter: u32, own_loop: usize) -> Option<Compared> {
        let Definition::Local { inst, .. } = self.definitions.get(&condition).copied()? else {
            return None;
        };
        let (a, b) = (id_at(inst, 0)?, id_at(inst, 1)?);
        // As a comparison that holds while the loop goes on.
        use Op::{
            SGreaterThan as SG, SGreaterThanEqual as SGE, SLessThan as SL, SLessThanEqual as SLE,
            UGreaterThan as UG, UGreaterThanEqual as UGE, ULessThan as UL, ULessThanEqual as ULE,
        };
        let (goes_on, signed) = match (inst.class.opcode, holds) {
            (UL, true) | (UGE, false) => (GoesOn::Below, false),
            (SL, true) | (SGE, false) => (GoesOn::Below, true),
            (ULE, true) | (UG, false) => (GoesOn::AtMost, false),
            (SLE, true) | (SG, false) => (GoesOn::AtMost, true),
            (UG, true) | (ULE, false) => (GoesOn::Above, false),
            (SG, true) | (SLE, false) => (GoesOn::Above, true),
            (UGE, true) | (UL, false) => (GoesOn::AtLeast, false),
            (SGE, true) | (SL, false) => (GoesOn::AtLeast, true),
            (Op::INotEqual, true) | (Op::IEqual, false) => (GoesOn::UnlessEqual, false),
            _ => return None,
        };
        // With the counter on the left.
        let (limit, shifts, goes_on) = match self.shifts_of(a, counter, own_loop) {
            Some(shifts) => (b, shifts, goes_on),
            None => {
                let mirrored = match goes_on {
                    GoesOn::Below => GoesOn::Above,
                    GoesOn::AtMost => GoesOn::AtLeast,
                    GoesOn::Above => GoesOn::Below,
                    GoesOn::AtLeast => GoesOn::AtMost,
                    GoesOn::UnlessEqual => GoesOn::UnlessEqual,
                };
                (a, self.shifts_of(b, counter, own_loop)?, mirrored)
            }
        };
        self.is_invariant(limit, own_loop).then_some(Compared { limit, shifts, goes_on, signed })
    }
}
