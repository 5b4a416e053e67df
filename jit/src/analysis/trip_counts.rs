//! How often the loops of a kernel go round, as far as it can be read off.
//!
//! One driver ends every loop of a shader after a fixed number of rounds counted over all of them, so a
//! fused kernel can reach that limit where its members do not. See `Limits::max_loop_rounds`.

use rspirv::spirv::Op;

use super::build::{Builder, Definition, id_at};
use super::expr::{Node, NodeId, sign_extend};
use super::unroll::Unrollable;

/// The loops of a kernel, outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoopRounds {
    /// Index of the loop around it.
    pub(crate) parent: Option<usize>,
    pub(crate) rounds: Rounds,
    /// Instructions of one round, if its rounds can be written out one after the other.
    pub(crate) weight: Option<u32>,
}

/// Most rounds of one loop, each time it is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// As its counter says.
    Counter(NodeId),
    AtMost(u64),
    Unknown,
}

impl Builder<'_> {
    pub(super) fn loop_rounds(&mut self) -> Vec<LoopRounds> {
        (0..self.cfg.loops.len())
            .map(|index| LoopRounds {
                parent: self.cfg.loops[index].parent,
                rounds: self.rounds_of(index),
                weight: Unrollable::of(self.function, self.cfg, index).map(|parts| parts.weight),
            })
            .collect()
    }

    fn rounds_of(&mut self, index: usize) -> Rounds {
        let header = self.cfg.loops[index].header;
        let phis: Vec<u32> = self.function.blocks[header]
            .instructions
            .iter()
            .take_while(|inst| inst.class.opcode == Op::Phi)
            .filter_map(|inst| inst.result_id)
            .collect();
        for &phi in &phis {
            let node = self.scalar(phi, header);
            if matches!(self.exprs.get(node), Node::Counter { bound: Some(_), .. }) {
                return Rounds::Counter(node);
            }
        }
        for phi in phis {
            if self.halves(phi, index) {
                return Rounds::AtMost(64);
            }
        }
        Rounds::Unknown
    }

    /// Whether the loop goes on only while `phi` is above zero, and each round divides it.
    fn halves(&mut self, phi: u32, index: usize) -> bool {
        let Some(test) = self.cfg.test_of(self.function, index) else { return false };
        let zero = |id: Option<u32>| id.and_then(|id| self.types.constant(id)).is_some_and(|c| c.0 == 0);
        let Some(Definition::Local { inst, .. }) = self.definitions.get(&test.condition) else {
            return false;
        };
        let (a, b) = (id_at(inst, 0), id_at(inst, 1));
        let positive = match (inst.class.opcode, test.stays) {
            (Op::UGreaterThan | Op::SGreaterThan | Op::INotEqual, true) => a == Some(phi) && zero(b),
            (Op::ULessThanEqual | Op::SLessThanEqual | Op::IEqual, false) => a == Some(phi) && zero(b),
            (Op::ULessThan | Op::SLessThan, true) => zero(a) && b == Some(phi),
            _ => false,
        };
        // Shifting a number below zero ends at -1.
        let below_zero = matches!(inst.class.opcode, Op::SGreaterThan | Op::SLessThan | Op::SLessThanEqual);
        positive && self.is_divided(phi, index, below_zero)
    }

    /// Whether the value a phi takes in the next round is itself divided by a constant above one. `below_zero`: the
    /// loop also ends at a number below zero.
    fn is_divided(&mut self, phi: u32, index: usize, below_zero: bool) -> bool {
        let Some(&Definition::Local { inst, .. }) = self.definitions.get(&phi) else { return false };
        inst.operands.chunks(2).all(|pair| {
            let (Some(value), Some(from)) = (
                pair.first().and_then(|o| o.id_ref_any()),
                pair.get(1).and_then(|o| o.id_ref_any()).and_then(|l| self.cfg.block_of_label(l)),
            ) else {
                return false;
            };
            if !self.cfg.loops[index].blocks.contains(from) {
                return true;
            }
            let Some(&Definition::Local { inst: next, block }) = self.definitions.get(&value) else {
                return false;
            };
            // A compiler may choose the divisor by a condition that is known.
            let by = id_at(next, 1).map(|id| self.scalar(id, block));
            let by = match by.map(|node| self.exprs.get(node)) {
                Some(&Node::Const { value, width }) => sign_extend(value, width),
                _ => 0,
            };
            let least = match next.class.opcode {
                Op::UDiv | Op::SDiv => 2,
                Op::ShiftRightLogical => 1,
                Op::ShiftRightArithmetic if below_zero => 1,
                _ => return false,
            };
            id_at(next, 0) == Some(phi) && by >= least && by < 64
        })
    }
}
