//! What was found out where a submission was inlined, for certificates.

use super::rounds::Counted;
use super::submission::Submission;
use crate::rewrite::Digit;

/// A producer, the submission that it was inlined in as that was before, and which item stores which element.
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
