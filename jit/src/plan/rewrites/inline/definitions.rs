//! The forms in which a submission has a definition.
//!
//! # Guarantees
//! - each form leaves in the buffer what the submission leaves there
//!
//! # Leaves alone
//! - whether the item of an element is known, and whether the element is certainly stored ([`Boundary::stored`](super::boundary::Boundary::stored))

use std::borrow::Cow;

use super::boundary::overlap;
use crate::analysis::access::AccessKind;
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::{Arg, Submission};
use crate::plan::input::uses::Uses;
#[cfg(feature = "certify")]
use crate::plan::output::again::Counted;
use crate::plan::rewrites::rounds;
use crate::reason::RewriteReason;
use crate::rewrite::{self, Definition};

/// How many stores an item of a producer may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stores {
    /// One, or one in each round of a loop.
    One,
    /// Any number.
    Several,
}

/// A way to a definition.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// It has one store.
    Itself,
    /// What an invocation stores in several elements is the definition of each of them.
    Rounds,
    /// With the numbers of the call it may store one element, whatever it does with others.
    OneStore,
    /// Each of its stores has a definition of its own.
    Sites,
}

/// A submission in a form that has a definition.
pub(super) struct Form<'a> {
    pub(super) source: Cow<'a, Submission>,
    pub(super) definition: Definition,
    /// If its rounds are the items: how.
    #[cfg(feature = "certify")]
    pub(super) by_rounds: Option<Counted>,
    /// With one store in the place of several.
    #[cfg(feature = "certify")]
    pub(super) is_settled: bool,
}

impl Way {
    /// Those to try, in this order.
    pub(super) fn all(stores: Stores) -> &'static [Self] {
        match stores {
            Stores::One => &[Self::Itself, Self::Rounds, Self::OneStore],
            Stores::Several => &[Self::Itself, Self::Rounds, Self::OneStore, Self::Sites],
        }
    }

    /// Whether a submission that has this form may have others.
    pub(super) fn may_be_another(self) -> bool {
        !matches!(self, Self::Itself)
    }

    /// A submission in this form, as far as it stores what is bound there; `None` if it has no such form.
    pub(super) fn form<'a>(
        self,
        one: &'a Submission,
        uses: &Uses,
        producer: usize,
        target: &Arg,
    ) -> Option<Result<Form<'a>, RewriteReason>> {
        let (source, _by_rounds) = match self {
            Self::Itself => (Cow::Borrowed(one), None),
            Self::Rounds => rounds::of(one, uses, producer).map(|(one, by)| (Cow::Owned(one), Some(by)))?,
            Self::OneStore => {
                let kernel = rewrite::one_store(&one.kernel, &one.push)?;
                (Cow::Owned(Submission { kernel, ..one.clone() }), None)
            }
            Self::Sites => (Cow::Borrowed(one), None),
        };
        let definition = match self {
            Self::Sites => {
                let stores = stores(one, uses, producer, target)?;
                Definition::at(&one.kernel, &stores).map_err(|(at, what)| RewriteReason::NoSite {
                    producer,
                    at,
                    what,
                })
            }
            _ => {
                Definition::of(&source.kernel).map_err(|what| RewriteReason::NoDefinition { producer, what })
            }
        };
        Some(definition.map(|definition| Form {
            source,
            definition,
            #[cfg(feature = "certify")]
            by_rounds: _by_rounds,
            #[cfg(feature = "certify")]
            is_settled: matches!(self, Self::OneStore),
        }))
    }
}

/// The stores of a submission with several that may happen, to what is bound there.
fn stores(one: &Submission, uses: &Uses, at: usize, target: &Arg) -> Option<Vec<usize>> {
    let (view, analysis) = (View::alone(one, uses, at)?, analysis_of(one).ok()?);
    let writes = |&number: &usize| analysis.accesses[number].kind != AccessKind::Read;
    let all: Vec<usize> = (0..analysis.accesses.len()).filter(writes).collect();
    let may_be = |&number: &usize| {
        let is_there = overlap(&one.args[analysis.accesses[number].binding], target);
        is_there && !view.forms[number].never
    };
    let found: Vec<usize> = all.iter().copied().filter(may_be).collect();
    (all.len() > 1 && !found.is_empty()).then_some(found)
}
