//! Where the importer is among constructs, and how it came to a block.

use rspirv::spirv::Word;

use crate::ir::entity::{Construct, Region};
use crate::ir::region::EdgeArgs;

/// A construct around the present block.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    If { construct: Construct, merge: Word },
    Switch { construct: Construct, merge: Word, cases: Vec<(Word, Region)> },
    Loop { construct: Construct, merge: Word, header: Word, latch: Word, continuing: Option<Region> },
}

/// How control comes to a block.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// From the end of this block.
    From(Word),
    /// From several, with a value for each phi.
    With(EdgeArgs),
}
