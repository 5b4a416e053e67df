//! What is known about the loops of a kernel independently of a call: what their tests depend on, and bounds of their trip counts.
//!
//! `trip_counts` and `recurrence` derive it from the code, `rounds` evaluates it with the numbers of a call.

use super::access::Guard;
use super::expr::{NodeId, sign_extend};
use super::unroll::Round;

/// The loops of a kernel, outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoopRounds {
    /// Index of the loop around it.
    pub(crate) parent: Option<usize>,
    pub(crate) rounds: Rounds,
    /// What its test depends on, where its rounds are not known otherwise.
    pub(crate) recurrence: Option<Recurrence>,
    /// The counters that its test compares with limits: each of them ends it.
    pub(crate) tested: Vec<NodeId>,
    /// Under which conditions it is not left but by its test; `None` if something other than a condition of its own rounds
    /// leads out of it.
    pub(crate) exits: Option<Vec<Guard>>,
    /// What a round is made of, if its rounds can be unrolled one after the other.
    pub(crate) round: Option<Round>,
    /// Its trip count, if that follows from constants (such as a number that is halved until it is zero) and it can be unrolled.
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
    pub(super) inclusive: bool,
    pub(super) signed: bool,
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

/// What a loop's test depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recurrence {
    pub(super) condition: NodeId,
    /// What the condition is when the loop goes on.
    pub(super) stays: bool,
    pub(super) carried: Vec<Carried>,
}

/// A value of the loop's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carried {
    /// The leaf that stands for it in expressions of the loop.
    pub(super) leaf: NodeId,
    /// What it is in the first round.
    pub(super) first: NodeId,
    /// What it is in the next round, made of what is carried.
    pub(super) next: NodeId,
}
