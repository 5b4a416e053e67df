//! Counters of loops: by how much they step in a round, and what they are compared with.

use rspirv::spirv::Op;

use super::build::{Builder, Definition, id_at};
use super::expr::{BinaryOp, GoesOn, LoopBound, Node, NodeId};

impl Builder<'_> {
    /// The loop-invariant `step` of `next = counter + step`, or of `next = counter - (-step)`.
    pub(super) fn step_of(&mut self, next: u32, counter: u32, own_loop: usize) -> Option<NodeId> {
        let next = self.source(next);
        let Definition::Local { block, inst } = self.definitions.get(&next).copied()? else {
            return None;
        };
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

    /// Reads how the counter compares with a limit while the loop goes on off the branch that decides that, which is
    /// passed in every iteration before the counter steps.
    pub(super) fn bound_of(&mut self, counter: u32, own_loop: usize) -> Option<LoopBound> {
        let cfg = self.cfg;
        let the_loop = &cfg.loops[own_loop];
        let test = cfg.test_of(self.function, own_loop)?;
        let parts = self.parts_of(test.condition, test.stays);
        let (limit, goes_on, signed) = { &parts }
            .iter()
            .find_map(|&(condition, holds)| self.limit_of(condition, holds, counter, own_loop))?;
        let limit = self.scalar(limit, the_loop.header);
        let only_exit = parts.len() == 1 && the_loop.is_left_only_from(test.block(), cfg);
        let only_exit = only_exit || mutant!(OtherExitsAreNotTaken);
        Some(LoopBound { limit, goes_on, signed, only_exit })
    }

    /// What a counter is compared with by a condition, and what it is to that where the condition holds or, as it is said,
    /// does not.
    fn limit_of(
        &mut self,
        condition: u32,
        holds: bool,
        counter: u32,
        own_loop: usize,
    ) -> Option<(u32, GoesOn, bool)> {
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
        let (right, goes_on) = if self.source(a) == counter {
            (b, goes_on)
        } else if self.source(b) == counter {
            let mirrored = match goes_on {
                GoesOn::Below => GoesOn::Above,
                GoesOn::AtMost => GoesOn::AtLeast,
                GoesOn::Above => GoesOn::Below,
                GoesOn::AtLeast => GoesOn::AtMost,
                GoesOn::UnlessEqual => GoesOn::UnlessEqual,
            };
            (a, mirrored)
        } else {
            return None;
        };
        self.is_invariant(right, own_loop).then_some((right, goes_on, signed))
    }
}
