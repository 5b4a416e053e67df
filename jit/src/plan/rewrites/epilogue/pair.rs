//! A submission that stores elements, and one that makes something of each.

use std::borrow::Cow;

use crate::plan::grouping::group::site;
use crate::plan::input::limits::Limits;
use crate::plan::input::submission::{Arg, Submission};
use crate::plan::input::uses::Uses;
use crate::reason::{AccessPair, RewriteReason};

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

    /// What the consumer has that gives it no place behind the stores of the producer.
    pub(super) fn wrong(&self, what: impl Into<Cow<'static, str>>) -> RewriteReason {
        self.fault(self.next, what.into(), None)
    }

    /// An access of the consumer that gives it none.
    pub(super) fn wrong_at(&self, what: &'static str, access: usize) -> RewriteReason {
        self.fault(self.next, what.into(), Some(access))
    }

    /// What the producer has that gives the consumer none.
    pub(super) fn source_has(&self, what: &'static str) -> RewriteReason {
        self.fault(self.producer, what.into(), None)
    }

    /// A store of the producer that gives the consumer none.
    pub(super) fn source_at(&self, what: &'static str, access: usize) -> RewriteReason {
        self.fault(self.producer, what.into(), Some(access))
    }

    pub(super) fn fault(&self, of: usize, what: Cow<'static, str>, access: Option<usize>) -> RewriteReason {
        let &Self { list, producer, next, .. } = self;
        let access = access.map(|access| Box::new(site(list, of, access)));
        RewriteReason::NoEpilogue { submission: next, producer, of, what, access }
    }

    /// That an item of the consumer reads several of the elements, by two accesses or by one that is repeated.
    pub(super) fn several(&self, first: usize, second: usize) -> RewriteReason {
        let [first, second] = [first, second].map(|access| site(self.list, self.next, access));
        let pair = Box::new(AccessPair { first, second });
        RewriteReason::SeveralElements { producer: self.producer, pair, otherwise: None }
    }

    /// Whether the consumer's binding is on bytes that the elements are stored among.
    pub(super) fn is_handed(&self, number: usize) -> bool {
        overlap(&self.list[self.next].args[number], &self.list[self.producer].args[self.into])
    }
}
