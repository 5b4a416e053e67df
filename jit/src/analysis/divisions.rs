//! Integer divisions under a condition that have a result without it.
//!
//! Division by zero is undefined, and so is dividing the smallest signed number by -1. Front ends whose language defines both cases select
//! another divisor for them: `a / select(b, 1, b == 0)`. The numbers of a call may rule them out as well.
//!
//! # Requires
//! - a kernel with one store
//!
//! # Guarantees
//! - each division that is not done whenever the store is, and that is in no loop, is listed

use rspirv::spirv::Op;
use std::collections::BTreeMap;

use super::access::{Access, AccessKind, Guard};
use super::affine::Atoms;
use super::build::{Builder, id_at};
use super::evaluate::Evaluator;
use super::expr::{BinaryOp, CompareOp, Node, NodeId, mask, sign_extend};
use super::kernel_analysis::Division;
use super::word::{as_signed, as_unsigned};
use crate::frontend::opcodes;

/// Most expressions that are visited for one divisor.
const MAX_CHOICES: u32 = 32;

impl Builder<'_> {
    /// The divisions outside of loops whose block does not dominate the kernel's only store, by block and position.
    pub(super) fn divisions(&mut self, accesses: &[Access]) -> BTreeMap<(usize, usize), Division> {
        let mut found = BTreeMap::new();
        let mut stores = accesses.iter().filter(|access| access.kind != AccessKind::Read);
        let (Some(store), None) = (stores.next(), stores.next()) else { return found };
        let function = self.function;
        for (block, body) in function.blocks.iter().enumerate() {
            let is_always_done = self.cfg.dominates(block, store.at.0);
            if !self.cfg.is_reachable(block) || is_always_done || self.cfg.innermost_loop(block).is_some() {
                continue;
            }
            for (position, inst) in body.instructions.iter().enumerate() {
                let op = inst.class.opcode;
                let operands = (id_at(inst, 0), id_at(inst, 1), inst.result_type);
                let (Some(a), Some(b), Some(ty)) = operands else { continue };
                if !opcodes::has(op, opcodes::DIVIDES) {
                    continue;
                }
                let parts = (0..self.types.components(ty))
                    .map(|n| (self.component(a, n, block), self.component(b, n, block)))
                    .collect();
                let signed = matches!(op, Op::SDiv | Op::SRem | Op::SMod);
                found.insert((block, position), Division { signed, parts });
            }
        }
        found
    }
}

impl Evaluator<'_> {
    /// Whether a division has a result wherever `guards` hold.
    pub(crate) fn divides(&mut self, atoms: &mut Atoms, guards: &[Guard], division: &Division) -> bool {
        self.enter(atoms, guards);
        if self.ranges.is_empty() {
            self.leave();
        }
        division.parts.iter().all(|&(dividend, divisor)| {
            let is_other =
                self.is_never(atoms, divisor, 0, None, &mut { MAX_CHOICES }) || mutant!(AnyDivisorWillDo);
            is_other && (!division.signed || self.fits(atoms, dividend, divisor))
        })
    }

    /// Whether a signed quotient is one of the numbers of its width.
    fn fits(&mut self, atoms: &mut Atoms, dividend: NodeId, divisor: NodeId) -> bool {
        let width = self.analysis.exprs.get(divisor).width();
        let (least, minus_one) = (1 << (width - 1), mask(width));
        self.is_never(atoms, divisor, minus_one, Some((dividend, least)), &mut { MAX_CHOICES })
            || self.is_never(atoms, dividend, least, None, &mut { MAX_CHOICES })
            || mutant!(QuotientsFit)
    }

    /// Whether an expression never equals `word`. With `beside`, only where that other expression has the given value.
    fn is_never(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        word: u64,
        beside: Option<(NodeId, u64)>,
        budget: &mut u32,
    ) -> bool {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        let width = self.analysis.exprs.get(node).width();
        match *self.analysis.exprs.get(node) {
            Node::Const { value, .. } => return value != word,
            Node::Select { condition, a, b, .. } => {
                let mut never = |side: NodeId, holds: bool| {
                    self.excludes_word(condition, holds, (side, word), beside)
                        || self.is_never(atoms, side, word, beside, budget)
                };
                if never(a, true) && never(b, false) {
                    return true;
                }
            }
            Node::Binary { op: BinaryOp::Or | BinaryOp::UMax, a, b, .. }
                if word == 0
                    && (self.is_never(atoms, a, 0, beside, budget)
                        || self.is_never(atoms, b, 0, beside, budget)) =>
            {
                return true;
            }
            _ => {}
        }
        let value = self.value(atoms, node);
        let is_apart = |low: i128, high: i128, number: i128| number < low || high < number;
        let signed = i128::from(sign_extend(word, width));
        as_unsigned(&value, width).is_some_and(|value| is_apart(value.low, value.high, i128::from(word)))
            || as_signed(&value, width).is_some_and(|value| is_apart(value.low, value.high, signed))
    }

    /// Whether a condition that is `holds` implies that `is` does not hold. With `beside`, only where that equality holds.
    fn excludes_word(
        &self,
        condition: NodeId,
        holds: bool,
        is: (NodeId, u64),
        beside: Option<(NodeId, u64)>,
    ) -> bool {
        let exprs = &self.analysis.exprs;
        let equals = |node: NodeId, (word, value): (NodeId, u64)| match *exprs.get(node) {
            Node::Compare { op, a, b, .. } if matches!(op, CompareOp::Equal | CompareOp::NotEqual) => {
                let is_value = |node: NodeId| matches!(exprs.get(node), Node::Const { value: other, .. } if *other == value);
                let of = a == word && is_value(b) || b == word && is_value(a);
                of.then_some(op == CompareOp::Equal)
            }
            _ => None,
        };
        match *exprs.get(condition) {
            Node::BoolNot(inner) => self.excludes_word(inner, !holds, is, beside),
            Node::BoolOr(a, b) if !holds => {
                self.excludes_word(a, false, is, beside) || self.excludes_word(b, false, is, beside)
            }
            Node::BoolAnd(a, b) if holds => {
                self.excludes_word(a, true, is, beside) || self.excludes_word(b, true, is, beside)
            }
            // Not both.
            Node::BoolAnd(a, b) if !holds => beside.is_some_and(|beside| {
                let both = |x, y| equals(x, is) == Some(true) && equals(y, beside) == Some(true);
                both(a, b) || both(b, a)
            }),
            Node::BoolOr(a, b) if holds => beside.is_some_and(|beside| {
                let both = |x, y| equals(x, is) == Some(false) && equals(y, beside) == Some(false);
                both(a, b) || both(b, a)
            }),
            _ => {
                let is_excluded = |is| equals(condition, is) == Some(!holds);
                is_excluded(is) || beside.is_some_and(is_excluded)
            }
        }
    }
}
