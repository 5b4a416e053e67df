//! How often the loops of a kernel go round, as far as it can be read off.
//!
//! One driver ends every loop of a shader after a fixed number of rounds counted over all of them, so a
//! fused kernel can reach that limit where its members do not. See `Limits::max_loop_rounds`.

use rspirv::spirv::Op;

use super::access::Guard;
use super::build::{Builder, Definition, id_at};
use super::cfg::Edge;
use super::expr::{BinaryOp, Node, NodeId, sign_extend};
use super::loops::{Factor, LoopRounds, Products, Rounds};
use super::unroll::Unrollable;

impl Builder<'_> {
    pub(super) fn loop_rounds(&mut self) -> Vec<LoopRounds> {
        (0..self.cfg.loops.len())
            .map(|index| {
                let tested = self.tested(index);
                let parts = Unrollable::of(self.function, self.cfg, index);
                let rounds = if tested.is_empty() { self.by_factors(index) } else { Rounds::Counted };
                let is_unknown = rounds == Rounds::Unknown;
                LoopRounds {
                    parent: self.cfg.loops[index].parent,
                    rounds,
                    recurrence: if is_unknown { self.recurrence(index) } else { None },
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
        let asked = self.tests[index]?;
        let test = asked.block;
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

    pub(super) fn phis(&self, index: usize) -> Vec<u32> {
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

    /// The products of a loop that goes on only while `phi`, or its next value, is below a limit, and that multiplies `phi` in
    /// each round.
    fn products(&mut self, phi: u32, index: usize) -> Option<Products> {
        // Each of the conditions under which the loop goes on bounds it.
        let test = self.tests[index]?;
        let parts = self.parts_of(test.condition, test.stays);
        parts.into_iter().find_map(|part| self.products_by(phi, index, part))
    }

    fn products_by(&mut self, phi: u32, index: usize, (condition, stays): (u32, bool)) -> Option<Products> {
        let Some(&Definition::Local { inst, block }) = self.definitions.get(&condition) else {
            return None;
        };
        let next = self.next_of(phi, index);
        // What is compared is the number of this round, or already that of the next.
        let sides = [id_at(inst, 0)?, id_at(inst, 1)?].map(|id| self.source(id));
        let is_next = next.is_some_and(|next| sides.contains(&next));
        let [a, b] = sides.map(|id| if Some(id) == next { phi } else { id });
        let (limit, inclusive, signed) = match (inst.class.opcode, stays) {
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
        let (first, by) = (first?, factor?);
        let first =
            if is_next && !mutant!(SteppedIsNotStepped) { self.times(first, by, width) } else { first };
        Some(Products { first, by, limit, width, inclusive, signed })
    }

    /// A word multiplied once.
    fn times(&mut self, word: NodeId, by: Factor, width: u8) -> NodeId {
        let (op, b) = match by {
            Factor::Two => (BinaryOp::Add, word),
            Factor::Word(by) => (BinaryOp::Mul, by),
            Factor::Shift(by) => (BinaryOp::Shl, by),
        };
        self.exprs.add(Node::Binary { op, width, a: word, b })
    }

    /// What a phi of a loop's header is in the next round, if that is one value.
    fn next_of(&self, phi: u32, index: usize) -> Option<u32> {
        let &Definition::Local { inst, .. } = self.definitions.get(&phi)? else { return None };
        let mut next = None;
        for pair in inst.operands.chunks(2) {
            let value = pair.first()?.id_ref_any()?;
            let from = self.cfg.block_of_label(pair.get(1)?.id_ref_any()?)?;
            let value = self.source(value);
            if self.cfg.loops[index].blocks.contains(from)
                && next.replace(value).is_some_and(|known| known != value)
            {
                return None;
            }
        }
        next
    }

    /// Rounds of a loop that begins with a constant, makes the next one of it by another constant, and compares it with a third: they are
    /// counted out.
    fn fixed(&mut self, index: usize, parts: &Unrollable) -> Option<u32> {
        let test = self.tests[index]?;
        let &[(condition, stays)] = self.parts_of(test.condition, test.stays).as_slice() else { return None };
        let &Definition::Local { inst, block } = self.definitions.get(&condition)? else { return None };
        let (op, a, b) = (inst.class.opcode, self.source(id_at(inst, 0)?), self.source(id_at(inst, 1)?));
        if parts.prefix.last() != Some(&test.block) {
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
                true => next = Some(self.source(value)),
                false => first = Some(self.const_word(value, from)?),
            }
        }
        let (mut value, first_width) = first?;
        let &Definition::Local { inst: step, block } = self.definitions.get(&next?)? else { return None };
        let (by, _) = self.const_word(id_at(step, 1)?, block)?;
        if self.source(id_at(step, 0)?) != phi || first_width != width {
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
            Some(holds == stays)
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
        let &Definition::Local { inst, block } = self.definitions.get(&self.source(value))? else {
            return None;
        };
        let (a, b) = (self.source(id_at(inst, 0)?), self.source(id_at(inst, 1)?));
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

    /// Whether the loop goes on only while `phi`, or what becomes of it in a round, is above zero, and each round divides it.
    fn halves(&mut self, phi: u32, index: usize) -> bool {
        let Some(test) = self.tests[index] else { return false };
        let parts = self.parts_of(test.condition, test.stays);
        parts.into_iter().any(|part| self.halves_by(phi, index, part))
    }

    fn halves_by(&mut self, phi: u32, index: usize, (condition, stays): (u32, bool)) -> bool {
        let Some(&Definition::Local { inst, block }) = self.definitions.get(&condition) else {
            return false;
        };
        let next = self.next_of(phi, index);
        let is_divided = |id: Option<u32>| id == Some(phi) || id.is_some() && id == next;
        let [a, b] = [0, 1].map(|n| id_at(inst, n).map(|id| self.source(id)));
        use Op::{
            SGreaterThan as SG, SGreaterThanEqual as SGE, SLessThan as SL, SLessThanEqual as SLE,
            UGreaterThan as UG, UGreaterThanEqual as UGE, ULessThan as UL, ULessThanEqual as ULE,
        };
        // As a comparison that holds while the loop goes on: what is divided is above a limit, at least it, or not it.
        let (limit, least, signed) = match (inst.class.opcode, stays) {
            (UG, true) | (ULE, false) if is_divided(a) => (b, 0, false),
            (SG, true) | (SLE, false) if is_divided(a) => (b, 0, true),
            (UGE, true) | (UL, false) if is_divided(a) => (b, 1, false),
            (SGE, true) | (SL, false) if is_divided(a) => (b, 1, true),
            (UL, true) | (UGE, false) if is_divided(b) => (a, 0, false),
            (SL, true) | (SGE, false) if is_divided(b) => (a, 0, true),
            (ULE, true) | (UG, false) if is_divided(b) => (a, 1, false),
            (SLE, true) | (SG, false) if is_divided(b) => (a, 1, true),
            (Op::INotEqual, true) | (Op::IEqual, false) if is_divided(a) => (b, 0, false),
            _ => return false,
        };
        let is_equality = matches!(inst.class.opcode, Op::INotEqual | Op::IEqual);
        let limit = limit.and_then(|id| self.const_word(id, block));
        let is_positive = limit.is_some_and(|(word, width)| match signed {
            _ if is_equality => word == 0,
            true => sign_extend(word, width) >= least || mutant!(AnyQuotientEnds),
            false => word >= least as u64 || mutant!(AnyQuotientEnds),
        });
        // Shifting a number below zero ends at -1.
        is_positive && self.is_divided(phi, index, signed)
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
            let value = self.source(value);
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
            id_at(next, 0).map(|id| self.source(id)) == Some(phi) && by >= least && by < 64
        })
    }
}
