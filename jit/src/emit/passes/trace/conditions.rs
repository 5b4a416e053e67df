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
        let order = Self { signed, strict, a, b };
        Some(if truth { order } else { order.not() })
    }

    /// What holds where this does not.
    pub(in crate::emit::passes) fn not(self) -> Self {
        Self { a: self.b, b: self.a, strict: !self.strict, ..self }
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
    /// Of each of these, all that is on one side has to hold.
    pub(in crate::emit::passes) either: Vec<(Behind, [Vec<Order>; 2])>,
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

    /// Adds that all orders of one of these sides hold.
    pub(in crate::emit::passes) fn add_either(&mut self, mut sides: Vec<Vec<Order>>) {
        if sides.iter().any(|side| side.iter().all(|&order| self.knows(Condition::Order(order)))) {
            return;
        }
        let is_excluded = |side: &Vec<Order>| side.iter().any(|one| self.knows(Condition::Order(one.not())));
        if let Some(at) = sides.iter().position(is_excluded).filter(|_| sides.len() > 1) {
            sides.remove(at);
        }
        match <[Vec<Order>; 2]>::try_from(sides) {
            Ok(sides) => self.either.push((self.behind.clone(), sides)),
            Err(sides) => sides.into_iter().flatten().for_each(|order| self.add_order(order)),
        }
    }

    fn knows(&self, condition: Condition) -> bool {
        self.all.iter().any(|(behind, other)| *other == condition && self.behind.starts_with(behind))
    }

    fn note(&mut self, condition: Condition) {
        if !self.knows(condition) {
            self.all.push((self.behind.clone(), condition));
        }
    }

    pub(in crate::emit::passes) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.either.is_empty()
    }

    /// The words that they are made of.
    pub(in crate::emit::passes) fn words(&self) -> impl Iterator<Item = Value> + '_ {
        let single = self.all.iter().flat_map(|(behind, condition)| {
            let own = match *condition {
                Condition::Order(order) => [order.a, order.b],
                Condition::Is(word, _) => [word, word],
            };
            behind.iter().map(|one| one.0).chain(own)
        });
        let either = self.either.iter().flat_map(|(behind, sides)| {
            let own = sides.iter().flatten().flat_map(|order| [order.a, order.b]);
            behind.iter().map(|one| one.0).chain(own)
        });
        single.chain(either)
    }
}
