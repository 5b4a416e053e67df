//! Every access of a kernel to its buffers: where, how wide, under which guards.

use smallvec::SmallVec;

use super::bytes::Pieces;
use super::cfg::Place;
use super::expr::NodeId;
use crate::frontend::types::MatrixLayout;

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic operation: reads and writes.
    Atomic,
}

impl AccessKind {
    /// Whether memory can change.
    pub fn writes(self) -> bool {
        self != Self::Read && !(mutant!(AtomicsAreReads) && self == Self::Atomic)
    }
}

/// One instruction that touches a buffer.
#[derive(Clone, Debug)]
pub struct Access {
    /// Index into the kernel's bindings.
    pub binding: usize,
    /// What it does.
    pub kind: AccessKind,
    /// Byte offset in the binding: `constant + sum of index * stride`.
    pub constant: u64,
    /// The dynamic indices and their strides in bytes.
    pub terms: Vec<Term>,
    /// Bytes touched, from the first to the last: the hull, which is all that two accesses can meet in.
    pub size: u64,
    /// Exactly the bytes touched, counted from the first, if they are known: without padding, and in pieces where the
    /// layout is strided. Certain writes are those of the pieces, never of the hull.
    pub(crate) pieces: Option<Pieces>,
    /// Whether the pieces are those of a whole element of the array it goes through.
    pub(crate) whole_element: bool,
    /// Conditions that held on the way.
    pub guards: Vec<Guard>,
    /// Whether the access happens wherever all guards hold that are not of past loops, once in each round of the loops
    /// around it that is done (`Cfg::guards`).
    pub exact_guards: bool,
    /// Block and position of the instruction.
    pub at: (usize, usize),
    /// Number of loops around the access.
    pub loop_depth: u32,
    /// The loops around it, outermost first: their numbers, and where the access lies in their rounds.
    pub(crate) loops: SmallVec<[(usize, Place); 2]>,
    /// The element of the block's array it goes through, if that is how it starts.
    pub(crate) element: Option<Element>,
    /// It is to a texel of an image: then its "bytes" are coordinates, made one number.
    pub texel: Option<Texel>,
}

/// Which texel of an image an access is to.
///
/// Coordinates become one number, `x + y * LINE + z * LINE * LINE`. Equal coordinates have equal numbers, which is all that a proof
/// that two accesses do not meet, or only in one invocation, rests on; and coordinates that an image can have are one to one
/// with theirs. An access has such a number for its byte offset, and one byte for its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texel {
    /// The one at its coordinates, this many of them.
    At(u8),
    /// The one at its coordinates, this many of them, which is fetched: it may be found as it was before the dispatch.
    Fetched(u8),
    /// Any: the image is sampled, or fetched from otherwise than at coordinates of its first level.
    Any,
}

impl Texel {
    /// Numbers of a line: more than any image is wide or high, and as a weight far from what affine forms may have.
    pub(crate) const LINE: u64 = 1 << 17;
    /// Where the numbers of all texels lie, for accesses whose coordinates are not known.
    pub(crate) const ALL: (i128, i128) = (-(1 << 90), 1 << 90);
}

/// The start of an access path: `block.member[index]`, or `block.member.inner[index]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Member of the block.
    pub(crate) member: u32,
    /// The index, if the path leads through an array.
    pub(crate) index: Option<ElementIndex>,
}

/// Which element of the outermost array on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementIndex {
    pub(crate) node: NodeId,
    /// Byte at which the array starts in its block.
    pub(crate) start: u64,
    /// Number of indices of the path before this one.
    pub(crate) depth: usize,
    /// Bytes per element.
    pub(crate) stride: u64,
    /// How matrices lie in an element that is one, or an array of them.
    pub(crate) matrix: MatrixLayout,
    /// Type id of the element in the kernel's module.
    pub(crate) ty: u32,
}

/// How a kernel reads its push constants.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) enum PushUse {
    #[default]
    None,
    /// Only whole scalars and vectors at fixed offsets.
    Leaves(Vec<PushLeaf>),
    /// Also in ways that need the block as it is.
    Block,
}

/// One scalar or vector of the push-constant block.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PushLeaf {
    pub(crate) offset: u32,
    pub(crate) size: u32,
    /// Bytes of one component: what the offset must be a multiple of.
    pub(crate) scalar: u32,
    /// Components: 1 for a scalar.
    pub(crate) count: u32,
    /// Signature of the type.
    pub(crate) ty: String,
}

/// A dynamic index of an access chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The index.
    pub index: NodeId,
    /// Bytes per step.
    pub stride: u64,
    /// Number of elements where the type says it: an index past it is undefined.
    pub count: Option<u64>,
}

/// A condition that held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// A boolean node.
    pub condition: NodeId,
    /// Whether it was true or false.
    pub holds: bool,
    /// Block that ends in the branch that asks.
    pub block: usize,
    /// It was asked in a loop that the access comes after. It held in the last round if the access happens, which is no
    /// condition of its happening: that is what leads out of the loop on every way.
    pub in_past_loop: bool,
}

/// A query of the length of a buffer's trailing array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LengthQuery {
    pub(crate) binding: usize,
    /// Id of its result.
    pub(crate) id: u32,
    /// Byte offset of the array in its block.
    pub(crate) offset: u32,
    /// Bytes per element.
    pub(crate) stride: u32,
}

impl Access {
    /// Bytes that a store has certainly written, counted from the first: no more than it writes.
    pub(crate) fn written(&self) -> &[(u64, u64)] {
        self.pieces.as_deref().unwrap_or(&[])
    }

    /// Bytes that a load asks for, counted from the first: no fewer than it reads.
    pub(crate) fn read(&self) -> Pieces {
        self.pieces.clone().unwrap_or_else(|| Pieces::from_slice(&[(0, self.size)]))
    }
}
