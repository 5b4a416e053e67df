//! Which invocation of a dispatch does which work of its members: one value, the [`Schedule`].
//!
//! The *domain* of a schedule is what members are written for: work-groups and the local ids in them, numbered by dimension. A schedule
//! writes each of these numbers as a mixed-radix number whose digits are ids of the dispatch, or places among what one invocation does. A
//! [`Split`] is one digit: the number it belongs to ([`Axis`]), where its value is from and how many values it has ([`Level`]). Splits of an axis
//! stand outermost first, so the place of a digit is its weight:
//!
//! ```text
//! number = ((d₀ · e₁ + d₁) · e₂ + d₂) · …,    0 ≤ dᵢ < eᵢ
//! ```
//!
//! Blocked and strided orders are the two places that a digit can have, so there is no flag for them: `256 invocations / 4 unrolled` does four
//! neighbours in an invocation, `4 unrolled / 256 invocations` four that are 256 apart.
//!
//! Digits of every legal schedule are a bijection onto the numbers of the axis (`docs/fusion-model.md`, *Schedules*). Where the work ends
//! before these numbers do, the [`Tail`] says what happens to the rest.
//!
//! | what | splits, as [`Schedule`] prints them | tail |
//! | --- | --- | --- |
//! | as submitted | `x: grid \| L invocations` | exact |
//! | thread coarsening of items by number, strided | `items: grid x / n unrolled / L invocations` | guarded |
//! | … of neighbours, in vectors | `items: grid x / L invocations / vec4` | guarded, whole |
//! | … in several vectors | `items: grid x / L invocations / r serial / vec4` | peeled |
//! | block coarsening | `x: grid / n unrolled \| L invocations` | exact, remainder |
//! | thread coarsening of a work-group | `x: grid \| n unrolled / L/n invocations` | exact |
//! | … down to one sub-group | `x: grid \| n unrolled / S lanes` | exact |
//! | sub-group per work-group | `x: grid / w sub-groups \| n unrolled / S lanes` | exact, masked |
//! | … or for several | `x: grid / w sub-groups / r unrolled \| n unrolled / S lanes` | exact, masked |
//! | … or several in its lanes | `x: grid / w sub-groups / k lanes / r unrolled \| n unrolled / S/k lanes` | exact, masked |
//! | superword, strided along a line | `x: grid \| n unrolled / L/n invocations` | guarded |
//! | superword, rows below each other | `y: grid \| L/n invocations / n unrolled` | guarded |
//! | … whose columns go through shared memory | `y: grid \| n unrolled / L/n invocations` | guarded |
//! | superword, in vectors | `x: grid \| L/4 invocations / vec4` | guarded |
//!
//! Thread coarsening of a work-group and superword code have the same digits. They differ in how the code is written, and so in the tail:
//! thread coarsening keeps the control flow of the members (unroll-and-jam) and has no test of its own; superword code is one predicted path for
//! all items, with a test before it, and the members one item after another behind it.
//!
//! # Guarantees
//! - digits stand in one order, by dimension, so equal schedules have equal bytes ([`Schedule::encode`])
//! - the grid is the outermost digit of each dimension of the dispatch
//! - only [`Schedule::legal`] says which combinations are allowed
//!
//! A new way of doing work is a transformation here (`transform`), its clause in `legal`, its term in `cost`, a candidate in
//! `plan/dispatch/candidates`, and a pass of `emit/pipeline` that reads it through an accessor (`view`).

mod cost;
mod display;
mod encode;
mod legal;
#[cfg(test)]
mod tests;
mod transform;
mod view;

use smallvec::SmallVec;

pub(crate) use cost::Cost;
pub(crate) use legal::Demands;
pub(crate) use view::{BlockCoarsening, ItemCoarsening, Packing, Superword};

/// How the ids of members follow from those of the dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Domain {
    /// They are the same.
    Grid,
    /// Work-groups are renumbered in linear order; local ids stay.
    LinearGroups,
    /// Items are renumbered in linear order, for item-only members: item `linear work-group · items of a work-group + local number`.
    LinearItems,
}

impl Domain {
    /// Whether work-groups of the dispatch are those of members, which then may have barriers, shared memory and local ids.
    pub(crate) fn keeps_work_groups(self) -> bool {
        self != Domain::LinearItems
    }
}

/// A number that a schedule writes as digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Axis {
    /// A component of the id of the work-group.
    Group,
    /// A component of the local id; of items by number, the number in the work-group.
    Local,
}

/// Where the value of a digit is from, and how many values it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Level {
    /// `WorkgroupId`, in this dimension. How many there are is not part of the code.
    Grid,
    /// `LocalInvocationId`, in this dimension.
    WorkGroup(u32),
    /// `SubgroupId`.
    Subgroup(u32),
    /// `SubgroupLocalInvocationId`.
    Lane(u32),
    /// The iteration of a loop.
    Serial(u32),
    /// The copy of the code, where copies are written next to each other, or for one path that all of them take.
    Unrolled(u32),
    /// As `Unrolled`, where elements of neighbours are accessed as vectors.
    Vector(u32),
}

impl Level {
    /// Number of values; `None` for the grid.
    pub(crate) fn extent(self) -> Option<u32> {
        match self {
            Level::Grid => None,
            Level::WorkGroup(n)
            | Level::Subgroup(n)
            | Level::Lane(n)
            | Level::Serial(n)
            | Level::Unrolled(n)
            | Level::Vector(n) => Some(n),
        }
    }

    /// Whether its values are invocations of one work-group of the dispatch.
    fn is_parallel(self) -> bool {
        matches!(self, Level::WorkGroup(_) | Level::Subgroup(_) | Level::Lane(_))
    }

    /// Whether its values are work of one invocation.
    fn is_of_invocation(self) -> bool {
        matches!(self, Level::Serial(_) | Level::Unrolled(_) | Level::Vector(_))
    }
}

/// One digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Split {
    pub(crate) dim: u8,
    pub(crate) axis: Axis,
    pub(crate) level: Level,
}

/// A number in the push constants, by its slot.
pub(crate) type Slot = u16;

/// What becomes of numbers that no member has work for, beyond the guards that members of fewer work-groups or items have anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tail {
    /// There are none.
    Exact,
    /// One test for all items of an invocation; where it fails, the invocation does them one after another.
    Guarded,
    /// One test for all items of an invocation: all of them have work in every member, or none has any.
    Whole,
    /// One test for each vector; the items behind the last whole one are those of the first invocations, one each.
    Peeled,
    /// The last work-group does those that are left one after another; the slot has their number along the axis.
    Remainder(Slot),
    /// Sub-groups for which no work-group is left do nothing; the slot has the number of work-groups along `x`.
    Masked(Slot),
}

/// Which invocation of a dispatch does which work of its members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Schedule {
    domain: Domain,
    /// Numbers of the local axes: items of a work-group of the domain.
    local: [u32; 3],
    /// By dimension; in each the axis `Group` before `Local`, outermost first.
    splits: SmallVec<[Split; 8]>,
    tail: Tail,
    /// Size of sub-groups that pipelines have to request, all of them full.
    full_subgroups: Option<u32>,
    /// Most loads of columns that are staged in shared memory.
    staged: u32,
}

impl Schedule {
    /// Work as it was submitted, in work-groups of size `local`. In linear domains the grid is one line, if `line` says so.
    pub(crate) fn new(domain: Domain, local: [u32; 3], line: bool) -> Self {
        let mut schedule = Self {
            domain,
            local,
            splits: SmallVec::new(),
            tail: Tail::Exact,
            full_subgroups: None,
            staged: 0,
        };
        for dim in 0..3 {
            if dim == 0 || domain == Domain::Grid || !line {
                schedule.splits.push(Split { dim, axis: Axis::Group, level: Level::Grid });
            }
            let size = local[usize::from(dim)];
            if size != 1 {
                schedule.splits.push(Split { dim, axis: Axis::Local, level: Level::WorkGroup(size) });
            }
        }
        schedule
    }

    /// How ids of members follow from those of the dispatch.
    pub(crate) fn domain(&self) -> Domain {
        self.domain
    }

    /// Whether the number of a work-group in linear order is its `x`.
    pub(crate) fn is_line(&self) -> bool {
        !self.splits.iter().any(|split| split.dim > 0 && split.level == Level::Grid)
    }

    /// Size of the sub-groups that the dispatch has to run in, all of them full, if that matters.
    pub(crate) fn full_subgroups(&self) -> Option<u32> {
        self.full_subgroups
    }

    /// Digits of an axis in a dimension, outermost first.
    fn digits(&self, axis: Axis, dim: u8) -> impl Iterator<Item = Level> {
        self.splits.iter().filter(move |one| one.axis == axis && one.dim == dim).map(|one| one.level)
    }

    /// Product of the extents of some digits.
    fn product(&self, counted: impl Fn(&Split) -> bool) -> u32 {
        let extents = self.splits.iter().filter(|split| counted(split)).filter_map(|one| one.level.extent());
        extents.fold(1, u32::saturating_mul)
    }

    /// Local size of the dispatch.
    pub(crate) fn work_group(&self) -> [u32; 3] {
        [0, 1, 2].map(|dim| self.product(|split| split.dim == dim && split.level.is_parallel()))
    }

    /// Local size that members have in the code before work-groups have fewer or more invocations: passes may find no way for these.
    /// Items by number have the one of the dispatch.
    pub(crate) fn local_size(&self) -> [u32; 3] {
        match self.domain {
            Domain::LinearItems => self.work_group(),
            Domain::Grid | Domain::LinearGroups => self.local,
        }
    }

    /// Items of a work-group that one invocation does.
    pub(crate) fn items_per_invocation(&self) -> u32 {
        self.product(|split| split.axis == Axis::Local && split.level.is_of_invocation())
    }

    /// Work-groups of the domain that one of the dispatch does.
    pub(crate) fn groups_per_work_group(&self) -> u32 {
        self.product(|split| split.axis == Axis::Group)
    }

    /// Work-group counts of the dispatch, for those of the domain.
    pub(crate) fn dispatch(&self, groups: [u32; 3]) -> [u32; 3] {
        [0, 1, 2].map(|dim: u8| {
            let several = self.product(|split| split.axis == Axis::Group && split.dim == dim);
            groups[usize::from(dim)].div_ceil(several.max(1))
        })
    }
}
