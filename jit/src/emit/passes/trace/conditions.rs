//! What has to hold for the way that is written, of all items.

use rspirv::spirv::Op;

use crate::ir::entity::Value;

/// `a <= b`, or `a < b`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::emit::passes) struct Order {
    pub(in crate::emit::passes) signed: bool,
    pub(in crate::emit::passes) strict: bool,
    pub(in crate::emit::passes) a: Value,
    pub(in crate::emit::passes) b: Value,
}

impl Order {
    /// The order that follows from the result of a comparison.
    pub(in crate::emit::passes) fn of(op: Op, truth: bool, a: Value, b: Value) -> Option<Self> {
        let (signed, strict, swapped) = match op {
            Op::ULessThan => (false, true, false),
            Op::ULessThanEqual => (false, false, false),
            Op::UGreaterThan => (false, true, true),
            Op::UGreaterThanEqual => (false, false, true),
            Op::SLessThan => (true, true, false),
            Op::SLessThanEqual => (true, false, false),
            Op::SGreaterThan => (true, true, true),
            Op::SGreaterThanEqual => (true, false, true),
            _ => return None,
        };
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        // Not `a < b` is `b <= a`.
        let (a, b, strict) = if truth { (a, b, strict) } else { (b, a, !strict) };
        Some(Self { signed, strict, a, b })
    }

    pub(in crate::emit::passes) fn op(self) -> Op {
        match (self.signed, self.strict) {
            (false, true) => Op::ULessThan,
            (false, false) => Op::ULessThanEqual,
            (true, true) => Op::SLessThan,
            (true, false) => Op::SLessThanEqual,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::emit::passes) enum Condition {
    Order(Order),
    Is(Value, bool),
}

/// The branches behind which something has to hold: conditions, and what they are.
pub(in crate::emit::passes) type Behind = Vec<(Value, bool)>;

/// All that has to hold.
#[derive(Default)]
pub(in crate::emit::passes) struct Conditions {
    pub(in crate::emit::passes) all: Vec<(Behind, Condition)>,
    behind: Behind,
}

impl Conditions {
    /// From here on, what is noted has to hold where this condition is this.
    pub(in crate::emit::passes) fn enter(&mut self, condition: Value, truth: bool) {
        self.behind.push((condition, truth));
    }

    pub(in crate::emit::passes) fn leave(&mut self) {
        self.behind.pop();
    }

    pub(in crate::emit::passes) fn add(&mut self, condition: Value, truth: bool) {
        self.note(Condition::Is(condition, truth));
    }

    pub(in crate::emit::passes) fn add_order(&mut self, order: Order) {
        self.note(Condition::Order(order));
    }

    fn note(&mut self, condition: Condition) {
        let known =
            |(behind, other): &(Behind, Condition)| *other == condition && self.behind.starts_with(behind);
        if !self.all.iter().any(known) {
            self.all.push((self.behind.clone(), condition));
        }
    }

    pub(in crate::emit::passes) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The words that they are made of.
    pub(in crate::emit::passes) fn words(&self) -> impl Iterator<Item = Value> + '_ {
        self.all.iter().flat_map(|(behind, condition)| {
            let own = match *condition {
                Condition::Order(order) => [order.a, order.b],
                Condition::Is(word, _) => [word, word],
            };
            behind.iter().map(|one| one.0).chain(own)
        })
    }
}
