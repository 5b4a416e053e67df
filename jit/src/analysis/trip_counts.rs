//! How often the loops of a kernel go round, as far as it can be read off.
//!
//! One driver ends every loop of a shader after a fixed number of rounds counted over all of them, so a
//! fused kernel can reach that limit where its members do not. See `Limits::max_loop_rounds`.

use rspirv::spirv::Op;

use super::access::Guard;
use super::build::{Builder, Definition, id_at};
use super::cfg::Edge;
use super::expr::{Node, NodeId, sign_extend};
use super::unroll::Unrollable;

/// The loops of a kernel, outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoopRounds {
    /// Index of the loop around it.
    pub(crate) parent: Option<usize>,
    pub(crate) rounds: Rounds,
    /// The counters that its test compares with limits: each of them ends it.
    pub(crate) tested: Vec<NodeId>,
    /// Under which conditions it is not left but by its test; `None` if something other than a condition of its own rounds
    /// leads out of it.
    pub(crate) exits: Option<Vec<Guard>>,
    /// Instructions of one round, if its rounds can be written out one after the other.
    pub(crate) weight: Option<u32>,
}

/// Most rounds of one loop, each time it is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// As its tests say.
    Counted,
    AtMost(u64),
    Unknown,
}

impl Builder<'_> {
    pub(super) fn loop_rounds(&mut self) -> Vec<LoopRounds> {
        (0..self.cfg.loops.len())
            .map(|index| {
                let tested = self.tested(index);
                LoopRounds {
                    parent: self.cfg.loops[index].parent,
                    rounds: if tested.is_empty() { self.halving(index) } else { Rounds::Counted },
                    tested,
                    exits: self.other_exits(index),
                    weight: Unrollable::of(self.function, self.cfg, index).map(|parts| parts.weight),
                }
            })
            .collect()
    }

    /// What holds as long as a loop is left by nothing but its test.
    fn other_exits(&mut self, index: usize) -> Option<Vec<Guard>> {
        let cfg = self.cfg;
        let the_loop = &cfg.loops[index];
        let asked = cfg.test_of(self.function, index)?;
        let test = asked.block();
        let edge = |block, condition, taken| Edge {
            block,
            condition,
            taken,
            values: Vec::new(),
            in_past_loop: false,
        };
        // One part of the test is what counts.
        let parts = self.parts_of(asked.condition, asked.stays);
        let parts = if parts.len() == 1 { Vec::new() } else { parts };
        let mut stays: Vec<Guard> =
            parts.iter().map(|&(condition, holds)| self.guard(&edge(test, condition, holds))).collect();
        for block in (0..cfg.successors.len()).filter(|&block| the_loop.blocks.contains(block)) {
            let leaves = cfg.successors[block].iter().any(|&next| !the_loop.blocks.contains(next));
            if block == test || !leaves {
                continue;
            }
            let (condition, on_true, on_false) = cfg.conditional(self.function, block)?;
            let taken = the_loop.blocks.contains(on_true);
            if cfg.innermost_loop(block) != Some(index) || taken == the_loop.blocks.contains(on_false) {
                return None;
            }
            stays.push(self.guard(&edge(block, condition, taken)));
        }
        Some(stays)
    }

    fn phis(&self, index: usize) -> Vec<u32> {
        let header = self.cfg.loops[index].header;
        let instructions = self.function.blocks[header].instructions.iter();
        let phis = instructions.take_while(|inst| inst.class.opcode == Op::Phi);
        phis.filter_map(|inst| inst.result_id).collect()
    }

    fn tested(&mut self, index: usize) -> Vec<NodeId> {
        let header = self.cfg.loops[index].header;
        let nodes: Vec<NodeId> = self.phis(index).into_iter().map(|phi| self.scalar(phi, header)).collect();
        let is_tested = |node: &NodeId| matches!(self.exprs.get(*node), Node::Counter { bound: Some(_), .. });
        nodes.into_iter().filter(is_tested).collect()
    }

    fn halving(&mut self, index: usize) -> Rounds {
        let halves = self.phis(index).into_iter().any(|phi| self.halves(phi, index));
        if halves { Rounds::AtMost(64) } else { Rounds::Unknown }
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
