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
    /// The producer in the form in which it is recomputed; if each item does one of several stores, with all of them.
    pub(crate) source: Submission,
    /// If that goes by the rounds of a loop: as what, and how.
    pub(crate) by_rounds: Option<(Submission, Counted)>,
    pub(crate) consumer: Submission,
    /// The argument that is loaded from no more.
    pub(crate) from: usize,
    /// Digits, lightest first.
    pub(crate) digits: Vec<Weight>,
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
    /// The stores of an item by block and position, in the order of their elements.
    pub(crate) sites: Vec<(usize, usize)>,
}

/// A digit of an element's number: its weight in elements, its greatest value, and how much of its id one of it is.
#[cfg(feature = "certify")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    pub(crate) is: Digit,
    pub(crate) weight: i128,
    pub(crate) most: i128,
    pub(crate) scale: i128,
}

/// A consumer that is done behind the stores of a producer.
#[cfg(feature = "certify")]
#[derive(Clone, Debug)]
pub(crate) struct Behind {
    /// Positions of the producer and the consumer in the list of the plan.
    pub(crate) positions: [usize; 2],
    /// The list as it was before, and their positions in that.
    pub(crate) list: Vec<Submission>,
    pub(crate) producer: usize,
    pub(crate) next: usize,
    /// If the consumer goes by the rounds of a loop: as what it was before, and how.
    pub(crate) by_rounds: Option<(Submission, Counted)>,
    /// Both in one.
    pub(crate) made: Submission,
    /// The argument of the producer that is stored through, and where.
    pub(crate) into: usize,
    pub(crate) sites: Vec<Site>,
    /// Other submissions that store parts of the elements.
    pub(crate) others: Vec<Beside>,
    /// Digits of an element's number that make up the ids of its item, lightest first.
    pub(crate) digits: Vec<Weight>,
    /// First byte of the first element in the memory object, bytes of an element, and how many elements there are.
    pub(crate) first: i128,
    pub(crate) stride: i128,
    pub(crate) count: i128,
    /// Whether elements before the first, or after the last, are stored as well.
    pub(crate) below: bool,
    pub(crate) above: bool,
    /// What is left in memory of what the producer stores.
    pub(crate) left: Left,
}

/// A submission that stores some of the elements, besides another one.
#[cfg(feature = "certify")]
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    pub(crate) producer: usize,
    /// The argument that is stored through, and where.
    pub(crate) into: usize,
    pub(crate) sites: Vec<Site>,
}

/// What is left in memory of elements that are handed on.
#[cfg(feature = "certify")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// All of them.
    All,
    /// What is stored back, which is all of them.
    StoredBack,
    /// None, since nothing reads there.
    Nothing,
}

/// A store of elements, and which invocation stores which of them.
#[cfg(feature = "certify")]
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Block and position.
    pub(crate) at: (usize, usize),
    /// Bytes from the start of the memory object for digits that are zero, and the digits, heaviest first; `None` where they are not known.
    pub(crate) first: i128,
    pub(crate) digits: Option<Vec<Part>>,
    /// Parts of the number that digits are [of](Of::Number), heaviest first.
    pub(crate) number: Vec<Part>,
}

/// A part of an id, or of the rounds of a loop, that decides where a store goes.
#[cfg(feature = "certify")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) of: Of,
    /// How much of the id one of it is.
    pub(crate) low: i128,
    /// Bytes, less than zero if the store goes backwards.
    pub(crate) weight: i128,
    pub(crate) most: i128,
}

/// What decides where a store goes.
#[cfg(feature = "certify")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Group(usize),
    Local(usize),
    /// Rounds of the loop so deep inside others.
    Round(usize),
    /// A number that is made of others.
    Number,
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
