//! What was found out while a list was planned, for certificates.

#[cfg(feature = "certify")]
use crate::analysis::dependence::Relation;
#[cfg(feature = "certify")]
use crate::plan::input::submission::Submission;
#[cfg(feature = "certify")]
use crate::rewrite::Digit;

/// A producer, the submission that it was inlined in as that was before, and which item stores which element.
#[cfg(feature = "certify")]
#[derive(Clone, Debug)]
pub(crate) struct Again {
    pub(crate) producer: usize,
    pub(crate) next: usize,
    /// The producer as it was worked out.
    pub(crate) source: Submission,
    /// If that goes by the rounds of a loop: as what, and how.
    pub(crate) by_rounds: Option<(Submission, Counted)>,
    pub(crate) consumer: Submission,
    /// The argument that is loaded from no more.
    pub(crate) from: usize,
    /// Digits, lightest first, each with its weight in elements and its greatest value.
    pub(crate) digits: Vec<(Digit, i128, i128)>,
    /// Byte of the element of index 0 in the memory object, bytes of an element, the first index, and how many elements.
    pub(crate) origin: i128,
    pub(crate) stride: i128,
    pub(crate) first: i128,
    pub(crate) count: i128,
    /// Whether elements before the first, or after the last, are loaded as before.
    pub(crate) below: bool,
    pub(crate) above: bool,
    /// Whether its elements are texels of an image.
    pub(crate) is_texels: bool,
    /// Whether what is loaded is several of its elements, or a part of one.
    pub(crate) is_of_parts: bool,
}

/// How a submission goes by its rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// Its position.
    pub(crate) at: usize,
    /// Rounds of an invocation.
    pub(crate) count: u32,
    /// Those of one invocation are neighbours.
    pub(crate) beside: bool,
}

/// What the planner says of two accesses: submission, block and position of each.
#[cfg(feature = "certify")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairVerdict {
    pub(crate) first: (usize, (usize, usize)),
    pub(crate) second: (usize, (usize, usize)),
    pub(crate) relation: Relation,
}
