//! Transformations that a schedule contains, as the passes that write them read them.
//!
//! Each accessor is the condition under which its pass runs (`emit/pipeline`), so which passes run together follows from the schedule.

use super::{Axis, Domain, Level, Schedule, Slot, Split, Tail};

/// Thread coarsening of items by number: several items in one invocation, in straight lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemCoarsening {
    /// Items that are written next to each other.
    pub(crate) items: u32,
    /// How often an invocation does this many, in a loop.
    pub(crate) rounds: u32,
    /// Items are next to each other, and may be vectors; otherwise they are a work-group size apart.
    pub(crate) consecutive: bool,
    /// [`Tail::Guarded`], [`Tail::Whole`] or [`Tail::Peeled`].
    pub(crate) tail: Tail,
}

/// Block coarsening: several work-groups that follow each other in one, by unroll-and-jam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockCoarsening {
    pub(crate) groups: u32,
    /// The dimension in which they follow each other.
    pub(crate) axis: u8,
    /// Slot of their number in that dimension; `None`: it is a multiple.
    pub(crate) total: Option<Slot>,
}

/// A sub-group per work-group: several work-groups of one sub-group each in one, along `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    pub(crate) groups: u32,
    /// Slot of the number of those that a sub-group does; `None`: it is a multiple.
    pub(crate) total: Option<Slot>,
}

/// Superword code: several items of a work-group in one invocation, along one predicted path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superword {
    /// How many: a divisor of the work-group's size in the dimension in which they follow each other.
    pub(crate) items: u32,
    pub(crate) axis: u8,
    /// They are next to each other; otherwise so far apart that neighbours do neighbours.
    pub(crate) consecutive: bool,
    /// Rather four next to each other in `x`, whose elements are vectors: buffers start where vectors may, and what is stored lies so. Where
    /// the code has no path for that, it may have one for items as above.
    pub(crate) vectors: bool,
    /// Most loads of columns that are staged in shared memory; 0 except in square work-groups.
    pub(crate) staged: u32,
}

impl Superword {
    /// Four items next to each other in `x`, if their elements are to be vectors.
    pub(crate) fn in_vectors(self) -> Option<Superword> {
        self.vectors.then_some(Superword {
            items: VECTOR,
            axis: 0,
            consecutive: true,
            vectors: true,
            staged: 0,
        })
    }
}

/// Items of a vector.
pub(super) const VECTOR: u32 = 4;

impl Schedule {
    /// Thread coarsening of items by number.
    pub(crate) fn item_coarsening(&self) -> Option<ItemCoarsening> {
        let of_items = |split: &&Split| split.axis == Axis::Local && split.level.is_of_invocation();
        if self.domain != Domain::LinearItems || self.splits.iter().find(of_items).is_none() {
            return None;
        }
        let (mut items, mut rounds, mut consecutive) = (1, 1, false);
        for split in self.splits.iter().filter(of_items) {
            match split.level {
                Level::Vector(n) => (items, consecutive) = (n, true),
                Level::Unrolled(n) => items = n,
                Level::Serial(n) => rounds = n,
                _ => {}
            }
        }
        Some(ItemCoarsening { items, rounds, consecutive, tail: self.tail })
    }

    /// Whether elements of neighbours are accessed as vectors.
    pub(crate) fn has_vectors(&self) -> bool {
        self.splits.iter().any(|split| matches!(split.level, Level::Vector(_)))
    }

    /// Block coarsening.
    pub(crate) fn block_coarsening(&self) -> Option<BlockCoarsening> {
        self.splits.iter().find_map(|split| match (split.axis, split.level) {
            (Axis::Group, Level::Unrolled(groups)) => {
                let total = match self.tail {
                    Tail::Remainder(slot) => Some(slot),
                    _ => None,
                };
                Some(BlockCoarsening { groups, axis: split.dim, total })
            }
            _ => None,
        })
    }

    /// Invocations of a work-group that one does, by unroll-and-jam; those that are left are a line.
    pub(crate) fn thread_coarsening(&self) -> Option<u32> {
        if self.domain == Domain::LinearItems || self.tail == Tail::Guarded {
            return None;
        }
        self.digits(Axis::Local, 0).find_map(|level| match level {
            Level::Unrolled(several) => Some(several),
            _ => None,
        })
    }

    /// Block or thread coarsening, or both.
    pub(crate) fn is_jammed(&self) -> bool {
        self.block_coarsening().is_some() || self.thread_coarsening().is_some()
    }

    /// Superword code.
    pub(crate) fn superword(&self) -> Option<Superword> {
        if self.domain == Domain::LinearItems || self.tail != Tail::Guarded {
            return None;
        }
        let of_invocation = |split: &&Split| split.axis == Axis::Local && split.level.is_of_invocation();
        let split = self.splits.iter().find(of_invocation)?;
        Some(match split.level {
            Level::Vector(items) => {
                let below = self.local[1] > 1;
                Superword { items, axis: u8::from(below), consecutive: below, vectors: true, staged: 0 }
            }
            level => {
                let consecutive = self.digits(Axis::Local, split.dim).last() == Some(level);
                let items = level.extent().unwrap_or(1);
                Superword { items, axis: split.dim, consecutive, vectors: false, staged: self.staged }
            }
        })
    }

    /// Whether local indices are numbered by sub-groups and lanes.
    pub(crate) fn is_by_subgroups(&self) -> bool {
        self.digits(Axis::Local, 0).any(|level| matches!(level, Level::Subgroup(_)))
    }

    /// Work-groups that are lanes of one sub-group, side by side.
    pub(crate) fn groups_in_lanes(&self) -> u32 {
        self.product(|split| split.axis == Axis::Group && matches!(split.level, Level::Lane(_)))
    }

    /// A sub-group per work-group.
    pub(crate) fn packing(&self) -> Option<Packing> {
        self.splits.iter().find_map(|split| match (split.axis, split.level) {
            (Axis::Group, Level::Subgroup(groups)) => {
                let total = match self.tail {
                    Tail::Masked(slot) => Some(slot),
                    _ => None,
                };
                Some(Packing { groups, total })
            }
            _ => None,
        })
    }
}
