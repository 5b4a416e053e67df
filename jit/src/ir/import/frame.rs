//! Where the importer is among constructs, how it came to a block, and where code comes from.

use rspirv::spirv::Word;

use crate::ir::entity::{Construct, Inst, Region};
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

/// Where the code of the function that was imported last comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    /// Block and position of instructions, in the order of import.
    pub(crate) insts: Vec<((usize, usize), Inst)>,
    /// Headers of loops.
    pub(crate) loops: Vec<(usize, Construct)>,
}
