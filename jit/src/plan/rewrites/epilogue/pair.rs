//! A submission that stores elements, and one that makes something of each.

use crate::plan::input::limits::Limits;
use crate::plan::input::submission::{Arg, Submission};
use crate::plan::input::uses::Uses;
use crate::reason::RewriteReason;

/// Whether two arguments have bytes in common.
pub(in crate::plan) fn overlap(a: &Arg, b: &Arg) -> bool {
    a.buffer == b.buffer && a.offset < b.offset + b.len && b.offset < a.offset + a.len
}

/// A submission that stores elements, and one that makes something of each.
pub(super) struct Pair<'a> {
    pub(super) asked: &'a [Submission],
    pub(super) list: &'a [Submission],
    pub(super) uses: &'a Uses,
    pub(super) producer: usize,
    pub(super) next: usize,
    /// The binding that elements are stored through.
    pub(super) into: usize,
    pub(super) limits: &'a Limits,
    /// All submissions that store some of the elements, this producer among them, each with the binding that it stores them through.
    pub(super) parts: &'a [Part],
}

/// A submission that stores elements, and the binding that it stores them through.
pub(in crate::plan) type Part = (usize, usize);

impl Pair<'_> {
    /// Whether a submission stores some of the elements.
    pub(super) fn stores(&self, at: usize) -> bool {
        self.parts.iter().any(|part| part.0 == at)
    }

    /// A reason that the one has no place behind the stores of the other.
    pub(super) fn wrong(&self, what: &'static str) -> RewriteReason {
        RewriteReason::NoEpilogue { producer: self.producer, what }
    }

    /// Whether the consumer's binding is on bytes that the elements are stored among.
    pub(super) fn is_handed(&self, number: usize) -> bool {
        overlap(&self.list[self.next].args[number], &self.list[self.producer].args[self.into])
    }
}
