//! Transformations: each makes a schedule of another one. None of them checks anything; [`Schedule::legal`] does.

use super::view::VECTOR;
use super::{Axis, BlockCoarsening, ItemCoarsening, Level, Packing, Schedule, Split, Superword, Tail};

impl Schedule {
    /// Thread coarsening of items by number: work-groups have more items, and as many invocations.
    pub(crate) fn coarsen_items(mut self, how: ItemCoarsening) -> Self {
        let size = Level::WorkGroup(self.local[0]);
        self.local[0] = self.local[0].saturating_mul(how.items).saturating_mul(how.rounds);
        match (how.consecutive, how.rounds) {
            (false, _) => self.set_local(0, &[Level::Unrolled(how.items), size]),
            (true, 1) => self.set_local(0, &[size, Level::Vector(how.items)]),
            (true, rounds) => self.set_local(0, &[size, Level::Serial(rounds), Level::Vector(how.items)]),
        }
        self.tail = how.tail;
        self
    }

    /// Block coarsening.
    pub(crate) fn coarsen_blocks(mut self, how: BlockCoarsening) -> Self {
        self.split_grid(how.axis, Level::Unrolled(how.groups));
        self.tail = how.total.map_or(self.tail, Tail::Remainder);
        self
    }

    /// Thread coarsening of a work-group, which is a line: this many invocations are left, and neighbours do neighbours.
    pub(crate) fn coarsen_threads(mut self, left: u32) -> Self {
        let several = self.local[0].checked_div(left).unwrap_or(0);
        self.set_local(0, &[Level::Unrolled(several), Level::WorkGroup(left)]);
        self
    }

    /// Superword code.
    pub(crate) fn superwords(mut self, how: Superword) -> Self {
        let (dim, items, last) = match how.vectors {
            true => (0, VECTOR, Level::Vector(VECTOR)),
            false => (how.axis, how.items, Level::Unrolled(how.items)),
        };
        let left = Level::WorkGroup(self.local[usize::from(dim)].checked_div(items).unwrap_or(0));
        let is_innermost = how.vectors || how.consecutive;
        self.set_local(dim, &if is_innermost { [left, last] } else { [last, left] });
        self.tail = Tail::Guarded;
        self.staged = how.staged;
        self
    }

    /// Invocations that are left of a work-group are the lanes of one full sub-group of this size.
    pub(crate) fn in_subgroup(mut self, size: u32) -> Self {
        for split in self.splits.iter_mut().filter(|one| one.axis == Axis::Local && one.dim == 0) {
            if let Level::WorkGroup(left) = split.level {
                split.level = Level::Lane(left);
            }
        }
        self.full_subgroups = Some(size);
        self
    }

    /// Several work-groups are the lanes of one sub-group, each as many as thread coarsening left of it.
    pub(crate) fn share_lanes(mut self, groups: u32) -> Self {
        self.split_grid(0, Level::Lane(groups));
        self
    }

    /// Local ids are those of the lanes of one full sub-group of this size after the other.
    pub(crate) fn by_subgroups(mut self, size: u32) -> Self {
        let several = self.local[0].checked_div(size).unwrap_or(0);
        self.set_local(0, &[Level::Subgroup(several), Level::Lane(size)]);
        self.full_subgroups = Some(size);
        self
    }

    /// A sub-group per work-group, or for several that each of its lanes does.
    pub(crate) fn pack(mut self, how: Packing) -> Self {
        let grid = self.splits.partition_point(|split| split.level == Level::Grid && split.dim == 0);
        let digit = Split { dim: 0, axis: Axis::Group, level: Level::Subgroup(how.groups) };
        self.splits.insert(grid, digit);
        self.tail = how.total.map_or(self.tail, Tail::Masked);
        self
    }

    /// Gives the local axis of a dimension other digits.
    fn set_local(&mut self, dim: u8, levels: &[Level]) {
        self.splits.retain(|split| split.axis != Axis::Local || split.dim != dim);
        self.insert(dim, Axis::Local, levels);
    }

    /// Puts a digit under those of the grid.
    fn split_grid(&mut self, dim: u8, level: Level) {
        self.insert(dim, Axis::Group, &[level]);
    }

    /// Puts digits behind those that an axis has.
    fn insert(&mut self, dim: u8, axis: Axis, levels: &[Level]) {
        let at = self.splits.partition_point(|split| (split.dim, split.axis) <= (dim, axis));
        for (number, &level) in levels.iter().enumerate() {
            self.splits.insert(at + number, Split { dim, axis, level });
        }
    }
}
