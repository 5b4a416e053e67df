//! How often the loops of a kernel go round, as far as it can be read off.
//!
//! One driver ends every loop of a shader after a fixed number of rounds counted over all of them, so a
//! fused kernel can reach that limit where its members do not. See `Limits::max_loop_rounds`.

use rspirv::spirv::Op;

use super::access::Guard;
use super::build::{Builder, Definition, id_at};
use super::cfg::Edge;
use super::expr::{Node, NodeId, sign_extend};
use super::unroll::{Round, Unrollable};

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
    /// What a round is made of, if its rounds can be written out one after the other.
    pub(crate) round: Option<Round>,
    /// How often it goes round each time, if constants say so, such as a half that is halved until it is zero, and it can be written out.
    pub(crate) fixed: Option<u32>,
}

/// Most rounds of one loop, each time it is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// As its tests say.
    Counted,
    AtMost(u64),
    /// As many as it takes to get to a limit by products: of words that may be known when a list is planned.
    Products(Products),
    Unknown,
}

/// A counter that is multiplied in each round, and the limit below which the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Products {
    pub(crate) first: NodeId,
    pub(crate) by: Factor,
    pub(crate) limit: NodeId,
    pub(crate) width: u8,
    inclusive: bool,
    signed: bool,
}

/// What a counter is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// It is added to itself.
    Two,
    Word(NodeId),
    /// A power of two.
    Shift(NodeId),
}

impl Products {
    /// How many rounds these words make. They are counted out, in words of the width that the counter has: one that wraps to zero never
    /// gets there, and is followed no further than words have bits.
    pub(crate) fn rounds(&self, first: u64, by: u64, limit: u64) -> Option<u64> {
        let width = self.width;
        let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        let below = |value: u64| match self.signed {
            true => sign_extend(value, width) < sign_extend(limit, width),
            false => value < limit,
        };
        let (mut value, mut rounds) = (first, 0);
        while below(value) || self.inclusive && value == limit {
            value = value.wrapping_mul(by) & mask;
            rounds += 1;
            if rounds > u64::from(width) {
                return if mutant!(AnyProductEnds) { Some(rounds) } else { None };
            }
        }
        Some(rounds)
    }
}

impl Builder<'_> {
    pub(super) fn loop_rounds(&mut self) -> Vec<LoopRounds> {
        (0..self.cfg.loops.len())
            .map(|index| {
                let tested = self.tested(index);
                let parts = Unrollable::of(self.function, self.cfg, index);
                LoopRounds {
                    parent: self.cfg.loops[index].parent,
                    rounds: if tested.is_empty() { self.by_factors(index) } else { Rounds::Counted },
                    tested,
                    exits: self.other_exits(index),
                    round: parts.as_ref().map(|parts| parts.round),
                    fixed: parts.and_then(|parts| self.fixed(index, &parts)),
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

    /// Rounds of a loop whose counter is divided, or multiplied, by a constant in each.
    fn by_factors(&mut self, index: usize) -> Rounds {
        let phis = self.phis(index);
        if phis.iter().any(|&phi| self.halves(phi, index)) {
            return Rounds::AtMost(64);
        }
        let products = phis.into_iter().find_map(|phi| self.products(phi, index));
        products.map_or(Rounds::Unknown, Rounds::Products)
    }

    /// What a loop goes by that goes on only while `phi` is below a limit and multiplies it in each round.
    fn products(&mut self, phi: u32, index: usize) -> Option<Products> {
        let test = self.cfg.test_of(self.function, index)?;
        let Some(&Definition::Local { inst, block }) = self.definitions.get(&test.condition) else {
            return None;
        };
        let (a, b) = (id_at(inst, 0)?, id_at(inst, 1)?);
        let (limit, inclusive, signed) = match (inst.class.opcode, test.stays) {
            (Op::ULessThan, true) | (Op::UGreaterThanEqual, false) if a == phi => (b, false, false),
            (Op::SLessThan, true) | (Op::SGreaterThanEqual, false) if a == phi => (b, false, true),
            (Op::ULessThanEqual, true) | (Op::UGreaterThan, false) if a == phi => (b, true, false),
            (Op::SLessThanEqual, true) | (Op::SGreaterThan, false) if a == phi => (b, true, true),
            (Op::UGreaterThan, true) | (Op::ULessThanEqual, false) if b == phi => (a, false, false),
            (Op::SGreaterThan, true) | (Op::SLessThanEqual, false) if b == phi => (a, false, true),
            (Op::UGreaterThanEqual, true) | (Op::ULessThan, false) if b == phi => (a, true, false),
            (Op::SGreaterThanEqual, true) | (Op::SLessThan, false) if b == phi => (a, true, true),
            _ => return None,
        };
        let limit = self.scalar(limit, block);
        let (mut first, mut factor) = (None, None);
        let &Definition::Local { inst, .. } = self.definitions.get(&phi)? else { return None };
        for pair in inst.operands.chunks(2) {
            let value = pair.first()?.id_ref_any()?;
            let from = self.cfg.block_of_label(pair.get(1)?.id_ref_any()?)?;
            let is_other = match self.cfg.loops[index].blocks.contains(from) {
                true => {
                    let by = self.factor_of(value, phi)?;
                    factor.replace(by).is_some_and(|known| known != by)
                }
                false => {
                    let word = self.scalar(value, from);
                    first.replace(word).is_some_and(|known| known != word)
                }
            };
            if is_other {
                return None;
            }
        }
        let width = self.exprs.get(limit).width();
        Some(Products { first: first?, by: factor?, limit, width, inclusive, signed })
    }

    /// Rounds of a loop that begins with a constant, makes the next one of it by another constant, and compares it with a third: they are
    /// counted out.
    fn fixed(&mut self, index: usize, parts: &Unrollable) -> Option<u32> {
        let test = self.cfg.test_of(self.function, index)?;
        let &Definition::Local { inst, block } = self.definitions.get(&test.condition)? else { return None };
        let (op, a, b) = (inst.class.opcode, id_at(inst, 0)?, id_at(inst, 1)?);
        if parts.prefix.last() != Some(&test.block()) {
            return None;
        }
        let phi = self.phis(index).into_iter().find(|&phi| (phi == a) != (phi == b))?;
        let (limit, width) = self.const_word(if phi == a { b } else { a }, block)?;
        let &Definition::Local { inst, .. } = self.definitions.get(&phi)? else { return None };
        let (mut first, mut next) = (None, None);
        for pair in inst.operands.chunks(2) {
            let value = pair.first()?.id_ref_any()?;
            let from = self.cfg.block_of_label(pair.get(1)?.id_ref_any()?)?;
            match from == parts.latch {
                true => next = Some(value),
                false => first = Some(self.const_word(value, from)?),
            }
        }
        let (mut value, first_width) = first?;
        let &Definition::Local { inst: step, block } = self.definitions.get(&next?)? else { return None };
        let (by, _) = self.const_word(id_at(step, 1)?, block)?;
        if id_at(step, 0) != Some(phi) || first_width != width {
            return None;
        }
        let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        let goes_on = |value: u64| {
            let (x, y) = if phi == a { (value, limit) } else { (limit, value) };
            let signed = [x, y].map(|word| sign_extend(word, width));
            let holds = match op {
                Op::ULessThan => x < y,
                Op::ULessThanEqual => x <= y,
                Op::UGreaterThan => x > y,
                Op::UGreaterThanEqual => x >= y,
                Op::SLessThan => signed[0] < signed[1],
                Op::SLessThanEqual => signed[0] <= signed[1],
                Op::SGreaterThan => signed[0] > signed[1],
                Op::SGreaterThanEqual => signed[0] >= signed[1],
                Op::IEqual => x == y,
                Op::INotEqual => x != y,
                _ => return None,
            };
            Some(holds == test.stays)
        };
        let mut rounds = 0;
        while goes_on(value)? {
            let is_positive = sign_extend(value, width) >= 0 && sign_extend(by, width) > 0;
            value = match step.class.opcode {
                Op::UDiv => value.checked_div(by)?,
                Op::SDiv if is_positive => value / by,
                Op::ShiftRightLogical if by < u64::from(width) => value >> by,
                Op::ShiftRightArithmetic if is_positive && by < u64::from(width) => value >> by,
                Op::ShiftLeftLogical if by < u64::from(width) => (value << by) & mask,
                Op::IMul => value.wrapping_mul(by) & mask,
                _ => return None,
            };
            rounds += 1;
            if rounds > u32::from(width) {
                return None;
            }
        }
        Some(if mutant!(OneHalvingLess) { rounds.max(1) - 1 } else { rounds })
    }

    /// What `value` is `phi` times, if that is a constant.
    fn factor_of(&mut self, value: u32, phi: u32) -> Option<Factor> {
        let Some(&Definition::Local { inst, block }) = self.definitions.get(&value) else { return None };
        let (a, b) = (id_at(inst, 0)?, id_at(inst, 1)?);
        match inst.class.opcode {
            Op::IAdd if a == phi && b == phi => Some(Factor::Two),
            Op::IMul if a == phi => Some(Factor::Word(self.scalar(b, block))),
            Op::IMul if b == phi => Some(Factor::Word(self.scalar(a, block))),
            Op::ShiftLeftLogical if a == phi => Some(Factor::Shift(self.scalar(b, block))),
            _ => None,
        }
    }

    /// The word that a value is, and its bits.
    fn const_word(&mut self, id: u32, block: usize) -> Option<(u64, u8)> {
        let node = self.scalar(id, block);
        match *self.exprs.get(node) {
            Node::Const { value, width } => Some((value, width)),
            _ => None,
        }
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
