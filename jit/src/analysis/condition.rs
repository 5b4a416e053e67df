//! Conditions with the numbers put in: what follows from one, and whether one is decided.

use super::affine::{Affine, Atoms};
use super::evaluate::Evaluator;
use super::expr::{BinaryOp, CompareOp, Node, NodeId};
use super::word::{Value, as_signed, as_unsigned};

/// Most parts of a condition that are looked at: nodes are shared, so a small condition can have any
/// number of paths.
const MAX_PARTS: u32 = 64;

impl Evaluator<'_> {
    /// The truth of a condition that is the same for every invocation.
    pub(super) fn decide(&mut self, atoms: &mut Atoms, condition: NodeId) -> Option<bool> {
        let mut budget = MAX_PARTS;
        self.decide_within(atoms, condition, &mut budget)
    }

    fn decide_within(&mut self, atoms: &mut Atoms, condition: NodeId, budget: &mut u32) -> Option<bool> {
        *budget = budget.checked_sub(1)?;
        match *self.analysis.exprs.get(condition) {
            Node::Const { value, .. } => Some(value != 0),
            Node::BoolNot(inner) => self.decide_within(atoms, inner, budget).map(|truth| !truth),
            Node::BoolAnd(a, b) | Node::BoolOr(a, b) => {
                // What decides the whole if one side is it.
                let strong = matches!(self.analysis.exprs.get(condition), Node::BoolOr(..));
                let a = self.decide_within(atoms, a, budget);
                if a == Some(strong) {
                    return a;
                }
                let b = self.decide_within(atoms, b, budget);
                if b == Some(strong) || a.is_some() { b } else { None }
            }
            Node::Compare { op, width, a, b } => {
                let (a, b) = self.operands(atoms, op, width, a, b)?;
                let difference = self.exact(atoms, a.form.plus(&b.form, -1)?);
                let (low, high) = (difference.low, difference.high);
                let (yes, no) = match op {
                    CompareOp::Equal => (low == 0 && high == 0, low > 0 || high < 0),
                    CompareOp::NotEqual => (low > 0 || high < 0, low == 0 && high == 0),
                    CompareOp::ULess | CompareOp::SLess => (high < 0, low >= 0),
                    CompareOp::ULessEqual | CompareOp::SLessEqual => (high <= 0, low > 0),
                };
                if yes || no { Some(yes) } else { None }
            }
            _ => None,
        }
    }

    /// The sides of a comparison as the numbers it compares.
    fn operands(
        &mut self,
        atoms: &mut Atoms,
        op: CompareOp,
        width: u8,
        a: NodeId,
        b: NodeId,
    ) -> Option<(Value, Value)> {
        let (a, b) = (self.value(atoms, a), self.value(atoms, b));
        let unsigned = || Some((as_unsigned(&a, width)?, as_unsigned(&b, width)?));
        let signed = || Some((as_signed(&a, width)?, as_signed(&b, width)?));
        match op {
            CompareOp::Equal | CompareOp::NotEqual => unsigned().or_else(signed),
            CompareOp::SLess | CompareOp::SLessEqual => signed(),
            CompareOp::ULess | CompareOp::ULessEqual => unsigned(),
        }
    }

    /// The operands of a limit `min(a, b)`, if the minimum has the signedness of the comparison: being below the limit is being below both.
    pub(super) fn below(&self, op: CompareOp, limit: NodeId) -> Option<(NodeId, NodeId)> {
        match (op, self.analysis.exprs.get(limit)) {
            (CompareOp::ULess | CompareOp::ULessEqual, Node::Binary { op: BinaryOp::UMin, a, b, .. })
            | (CompareOp::SLess | CompareOp::SLessEqual, Node::Binary { op: BinaryOp::SMin, a, b, .. }) => {
                Some((*a, *b))
            }
            _ => None,
        }
    }

    /// Whether a comparison of unsigned words says that one of them has not wrapped below zero: it is less than the other one, and words
    /// that have wrapped are above all numbers that this may be. Adds what follows, which is all of it.
    fn has_not_wrapped(
        &mut self,
        atoms: &mut Atoms,
        (op, truth): (CompareOp, bool),
        width: u8,
        (a, b): (NodeId, NodeId),
        facts: &mut Vec<Affine>,
    ) -> bool {
        // `a < b` is false where `b <= a`.
        let (op, a, b) = match (op, truth) {
            (CompareOp::ULess | CompareOp::ULessEqual, true) => (op, a, b),
            (CompareOp::ULess, false) => (CompareOp::ULessEqual, b, a),
            (CompareOp::ULessEqual, false) => (CompareOp::ULess, b, a),
            _ => return false,
        };
        let (a, b) = (self.value(atoms, a), self.value(atoms, b));
        let Some(b) = as_unsigned(&b, width) else { return false };
        let period = 1i128 << width;
        let least = a.low.saturating_add(period);
        let is_above = least > b.high || least == b.high && op == CompareOp::ULess;
        let wraps = a.low >= 0 || a.high >= period || !is_above && !mutant!(WrappedIsLess);
        let Some(negated) = a.form.scaled(-1).filter(|_| !wraps) else { return false };
        facts.push(negated);
        compared(op, true, &a, &b, facts)
    }

    /// Adds what follows from `condition` being `truth`: forms that are at most zero. Returns whether
    /// the facts say everything the condition says.
    pub(super) fn assume(
        &mut self,
        atoms: &mut Atoms,
        condition: NodeId,
        truth: bool,
        facts: &mut Vec<Affine>,
    ) -> bool {
        let mut budget = MAX_PARTS;
        self.assume_within(atoms, condition, truth, facts, &mut budget)
    }

    fn assume_within(
        &mut self,
        atoms: &mut Atoms,
        condition: NodeId,
        truth: bool,
        facts: &mut Vec<Affine>,
        budget: &mut u32,
    ) -> bool {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        match *self.analysis.exprs.get(condition) {
            Node::Const { value, .. } => {
                if (value != 0) != truth {
                    facts.push(Affine::constant(1));
                }
                true
            }
            Node::BoolNot(inner) => self.assume_within(atoms, inner, !truth, facts, budget),
            Node::BoolAnd(a, b) if truth => {
                self.assume_within(atoms, a, true, facts, budget)
                    & self.assume_within(atoms, b, true, facts, budget)
            }
            Node::BoolOr(a, b) if !truth => {
                self.assume_within(atoms, a, false, facts, budget)
                    & self.assume_within(atoms, b, false, facts, budget)
            }
            // One side is known to be no help: the other one must be it.
            Node::BoolAnd(a, b) | Node::BoolOr(a, b) => {
                if self.decide_within(atoms, condition, budget) == Some(truth) {
                    // It says nothing that is not so anyway.
                    true
                } else if self.decide_within(atoms, a, budget) == Some(!truth) {
                    self.assume_within(atoms, b, truth, facts, budget)
                } else if self.decide_within(atoms, b, budget) == Some(!truth) {
                    self.assume_within(atoms, a, truth, facts, budget)
                } else {
                    false
                }
            }
            Node::Compare { op, width, a, b } => {
                let known = facts.len();
                let exact = match self.operands(atoms, op, width, a, b) {
                    Some((a, b)) => compared(op, truth, &a, &b, facts),
                    None => self.has_not_wrapped(atoms, (op, truth), width, (a, b), facts),
                };
                // What is below the least of two is below both.
                let (Some(x), Some(y)) = self.below(op, b).filter(|_| truth).unzip() else { return exact };
                let mut all = true;
                for limit in [x, y] {
                    let sides = self.operands(atoms, op, width, a, limit);
                    all &= sides.is_some_and(|(a, limit)| compared(op, true, &a, &limit, facts));
                }
                if all {
                    // They say all of it, and the least itself may be known by its range alone.
                    facts.drain(known..facts.len() - 2);
                }
                exact || all
            }
            _ => false,
        }
    }
}

/// What `a op b` being `truth` says, as facts; whether they say all of it.
fn compared(op: CompareOp, truth: bool, a: &Value, b: &Value, facts: &mut Vec<Affine>) -> bool {
    let (Some(less), Some(more)) = (a.form.plus(&b.form, -1), b.form.plus(&a.form, -1)) else {
        return false;
    };
    let strictly = |mut form: Affine| {
        form.constant += 1;
        form
    };
    match (op, truth) {
        (CompareOp::Equal, true) | (CompareOp::NotEqual, false) => facts.extend([less, more]),
        (CompareOp::Equal, false) | (CompareOp::NotEqual, true) => {
            // Being another number says something of a range only at its ends.
            if a.low >= b.high {
                facts.push(strictly(more));
            } else if a.high <= b.low {
                facts.push(strictly(less));
            } else {
                return false;
            }
        }
        (CompareOp::ULess | CompareOp::SLess, true) => facts.push(strictly(less)),
        (CompareOp::ULessEqual | CompareOp::SLessEqual, true) => facts.push(less),
        (CompareOp::ULess | CompareOp::SLess, false) => facts.push(more),
        (CompareOp::ULessEqual | CompareOp::SLessEqual, false) => facts.push(strictly(more)),
    }
    true
}
