//! Which schedules there may be: one function with a clause for each level.
//!
//! What the members' code allows (control flow around barriers, straight lines, indices) is a question about them, which the planner asks
//! before it proposes a schedule (`plan/dispatch`). Here is what transformations ask of each other, and of a group as a whole.
//!
//! | level | clause | why |
//! | --- | --- | --- |
//! | grid | items by number keep the grid as it is | they have no work-groups of members that could be coarsened or packed |
//! | grid | one digit under the grid, in one dimension | the number that the tail compares is that of one dimension |
//! | grid | … or several sub-groups in one work-group, whose lanes are work-groups, or do several side by side, or both; no remainder | sub-groups that do nothing are whole ones |
//! | work-group | the digits of a local axis make up its size | else some local ids would have no invocation, or several |
//! | work-group | only lines have fewer invocations by unroll-and-jam | invocations are taken from `x` alone |
//! | sub-group | work-groups of members, and lines | lanes number the invocations of `x`; items by number have no local ids |
//! | sub-group | members without operations or ids of sub-groups, unless every invocation does the work of one local id that it had | other digits make other sub-groups |
//! | sub-group | lanes are what thread coarsening leaves of a work-group, or local ids are numbered by sub-groups and nothing else | barriers become the sub-group's where it does |
//! | sub-group | local ids are numbered by sub-groups where a member rests on that | it was padded, and its own invocations are whole sub-groups |
//! | sub-group | a work-group is a sub-group of another one only if it has lanes | its barriers have to be the sub-group's |
//! | lane | as many as the full sub-group has | a work-group is one sub-group, or an equal part of its lanes, and each lane has one local id |
//! | lane | work-groups side by side in a sub-group are powers of two | which of them a lane is of are its upper bits |
//! | serial | exactly where vectors are peeled, in work-groups with an invocation for each item behind the last vector | these items are those of the first invocations |
//! | unrolled | one digit has copies | unroll-and-jam, straight lines and superword code are each written from the functions of the members |
//! | unrolled | … or work-groups side by side, whose invocations become lanes | the second is written from the functions of the first |
//! | unrolled | copies of items by number have a test | the last of them may have no work |
//! | unrolled | code on one path has no barriers | copies that fail the test leave the path |
//! | unrolled | superword code has no push constants in a buffer | its path is found by ids and arguments alone |
//! | unrolled | whole and peeled tails are those of items by number | where their work ends is one number |
//! | staged | superword code of a square, without vectors | filling shared memory exchanges `x` and `y` of invocations |
//! | vector | accesses that take several elements at once are of items by number in vectors | the elements of other items are not next to each other |
//! | vector | four | what `load_store_vec4` of all devices takes |
//! | vector | rows below each other are a multiple of four, where there are several | superword code without vectors does four of these |

use std::sync::Arc;

use smallvec::SmallVec;

use super::view::VECTOR;
use super::{Axis, Domain, Level, Schedule, Split, Tail};
use crate::kernel::Specialized;

/// What a group asks of any schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demands {
    /// Invocations of a work-group wait for each other, in a member or between two of them.
    pub(crate) barriers: bool,
    /// Some member has operations or ids of sub-groups.
    pub(crate) subgroups: bool,
    /// Size of sub-groups that a member's local indices follow.
    pub(crate) lanes: Option<u32>,
    /// Some push constants are in a uniform buffer.
    pub(crate) push_buffer: bool,
    /// Some accesses take the elements of several items at once.
    pub(crate) vectors: bool,
}

impl Demands {
    /// What these members ask; `between` says whether barriers stand between some of them.
    pub(crate) fn of(kernels: &[Arc<Specialized>], between: bool, push_buffer: bool) -> Self {
        Self {
            barriers: between || kernels.iter().any(|kernel| kernel.interface.has_barrier),
            subgroups: kernels.iter().any(|kernel| kernel.interface.has_subgroup_ops),
            lanes: kernels.iter().find_map(|kernel| kernel.lanes),
            push_buffer,
            vectors: false,
        }
    }

    /// Besides, what these accesses ask, by member: those that take several elements at once.
    pub(crate) fn with_vectors<'a>(self, wide: impl IntoIterator<Item = &'a [bool]>) -> Self {
        Self { vectors: wide.into_iter().flatten().any(|&wide| wide), ..self }
    }
}

/// Why a schedule is not legal, by the level whose clause it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Illegal {
    #[error("grid: items by number have no work-groups to coarsen")]
    GroupsOfItems,
    #[error("grid: work-groups are coarsened twice")]
    GroupsTwice,
    #[error("work-group: {made} of {size} local ids along dimension {dim}")]
    Size { dim: u8, made: u32, size: u32 },
    #[error("work-group: fewer invocations of a work-group that is no line")]
    NoLine,
    #[error("sub-group: lanes of items by number, or of a work-group that is no line")]
    NoLineOfLanes,
    #[error("sub-group: a member knows of sub-groups")]
    KnownSubgroups,
    #[error("sub-group: lanes of a work-group that has all its invocations")]
    LanesOfAll,
    #[error("sub-group: other digits beside local ids that are numbered by sub-groups")]
    OthersBesideSubgroups,
    #[error("sub-group: a member rests on sub-groups of {size}")]
    NotNumbered { size: u32 },
    #[error("sub-group: a work-group that has no lanes is a sub-group")]
    NoSubgroup,
    #[error("lane: {lanes} of {size}")]
    Lanes { lanes: u32, size: u32 },
    #[error("lane: {0} work-groups in a sub-group")]
    GroupsInLanes(u32),
    #[error("serial: vectors in a loop without a peeled tail, or the other way round")]
    Loop,
    #[error("serial: {invocations} invocations for {items} items behind the last vector")]
    TooFewToPeel { invocations: u32, items: u32 },
    #[error("unrolled: several digits have copies")]
    CopiesOfCopies,
    #[error("unrolled: copies of items by number without a test")]
    NoTest,
    #[error("unrolled: a tail of items by number")]
    TailOfItems,
    #[error("unrolled: barriers on one path for several items")]
    Barriers,
    #[error("unrolled: superword code with push constants in a buffer")]
    SuperwordWithBuffer,
    #[error("staged: no superword code of a square")]
    NoSquare,
    #[error("vector: accesses of several elements by items that are not next to each other")]
    ApartInVector,
    #[error("vector: of {0}")]
    Vector(u32),
    #[error("vector: {0} rows")]
    Rows(u32),
}

impl Schedule {
    /// Whether there may be such a schedule.
    pub(crate) fn legal(&self, demands: Demands) -> Result<(), Illegal> {
        self.grid()?;
        self.work_groups()?;
        self.subgroups(demands)?;
        self.lanes()?;
        self.serial()?;
        self.unrolled(demands)?;
        self.stages()?;
        self.vectors(demands)
    }

    fn grid(&self) -> Result<(), Illegal> {
        let under = self.splits.iter().filter(|one| one.axis == Axis::Group && one.level != Level::Grid);
        let under: SmallVec<[&Split; 2]> = under.collect();
        if !under.is_empty() && !self.domain.keeps_work_groups() {
            return Err(Illegal::GroupsOfItems);
        }
        let is_one = match under.as_slice() {
            [] | [_] => true,
            [first, second] => {
                first.dim == second.dim
                    && matches!(
                        (first.level, second.level),
                        (Level::Subgroup(_), Level::Lane(_) | Level::Unrolled(_))
                    )
            }
            [first, second, third] => {
                [second.dim, third.dim] == [first.dim; 2]
                    && matches!(
                        (first.level, second.level, third.level),
                        (Level::Subgroup(_), Level::Lane(_), Level::Unrolled(_))
                    )
            }
            _ => false,
        };
        if is_one { Ok(()) } else { Err(Illegal::GroupsTwice) }
    }

    fn work_groups(&self) -> Result<(), Illegal> {
        let is_line = self.local[1..] == [1, 1] || mutant!(RowsAreLines);
        if self.thread_coarsening().is_some() && !is_line {
            return Err(Illegal::NoLine);
        }
        for (dim, &size) in (0..).zip(&self.local) {
            let made = self.product(|split| split.axis == Axis::Local && split.dim == dim);
            if made != size && !mutant!(RestIsNobody) {
                return Err(Illegal::Size { dim, made, size });
            }
        }
        Ok(())
    }

    fn subgroups(&self, demands: Demands) -> Result<(), Illegal> {
        let has_lanes = self.full_subgroups.is_some();
        let is_line = self.domain.keeps_work_groups() && self.local[1..] == [1, 1];
        if has_lanes && !is_line {
            return Err(Illegal::NoLineOfLanes);
        }
        if let Some(size) = demands.lanes
            && (!self.is_by_subgroups() || self.full_subgroups != Some(size))
        {
            return Err(Illegal::NotNumbered { size });
        }
        if self.is_by_subgroups() {
            let of_invocation = |split: &Split| split.level.is_of_invocation();
            let is_alone = !self.splits.iter().any(of_invocation) && self.packing().is_none();
            return if is_alone && has_lanes { Ok(()) } else { Err(Illegal::OthersBesideSubgroups) };
        }
        let other = |split: &Split| split.axis == Axis::Local && !matches!(split.level, Level::WorkGroup(_));
        let is_other = self.splits.iter().any(other) && (has_lanes || !mutant!(SubgroupsStay));
        if demands.subgroups && is_other {
            return Err(Illegal::KnownSubgroups);
        }
        if has_lanes && self.thread_coarsening().is_none() {
            return Err(Illegal::LanesOfAll);
        }
        if self.packing().is_some() && !has_lanes { Err(Illegal::NoSubgroup) } else { Ok(()) }
    }

    fn lanes(&self) -> Result<(), Illegal> {
        let groups = self.groups_in_lanes();
        let has_rest = self.digits(Axis::Local, 0).any(|level| matches!(level, Level::Lane(_)));
        let is_whole = groups == 1 || self.packing().is_some() && has_rest;
        let Some(size) = self.full_subgroups.filter(|_| is_whole) else {
            return if groups == 1 { Ok(()) } else { Err(Illegal::GroupsInLanes(groups)) };
        };
        let lanes = self.product(|split| matches!(split.level, Level::Lane(_)));
        if !groups.is_power_of_two() || !size.is_power_of_two() && groups > 1 {
            return Err(Illegal::GroupsInLanes(groups));
        }
        let is_one = lanes == size || mutant!(LeftAreOneSubgroup);
        if is_one { Ok(()) } else { Err(Illegal::Lanes { lanes, size }) }
    }

    fn serial(&self) -> Result<(), Illegal> {
        let has_loop = self.splits.iter().any(|split| matches!(split.level, Level::Serial(_)));
        if has_loop != (self.tail == Tail::Peeled) {
            return Err(Illegal::Loop);
        }
        let invocations = self.work_group()[0];
        if has_loop && invocations < VECTOR {
            return Err(Illegal::TooFewToPeel { invocations, items: VECTOR - 1 });
        }
        Ok(())
    }

    fn unrolled(&self, demands: Demands) -> Result<(), Illegal> {
        let is_copied = |split: &&Split| matches!(split.level, Level::Unrolled(_) | Level::Vector(_));
        let in_lanes = self.full_subgroups.is_some()
            && self.thread_coarsening().is_some()
            && self.block_coarsening().is_some_and(|how| how.total.is_none());
        if self.splits.iter().filter(is_copied).count() > if in_lanes { 2 } else { 1 } {
            return Err(Illegal::CopiesOfCopies);
        }
        let by_number = self.domain == Domain::LinearItems;
        if by_number && self.item_coarsening().is_some() && self.tail == Tail::Exact {
            return Err(Illegal::NoTest);
        }
        if !by_number && matches!(self.tail, Tail::Whole | Tail::Peeled) {
            return Err(Illegal::TailOfItems);
        }
        let superword = self.superword().is_some();
        if demands.barriers && (superword || self.item_coarsening().is_some()) {
            return Err(Illegal::Barriers);
        }
        if superword && demands.push_buffer { Err(Illegal::SuperwordWithBuffer) } else { Ok(()) }
    }

    fn stages(&self) -> Result<(), Illegal> {
        let [columns, rows, layers] = self.local;
        let is_square = columns == rows && layers == 1 && self.domain == Domain::Grid;
        let is_below = |how: super::Superword| how.axis == 1 && !how.vectors && !how.consecutive;
        if self.staged == 0 || is_square && self.superword().is_some_and(is_below) {
            Ok(())
        } else {
            Err(Illegal::NoSquare)
        }
    }

    fn vectors(&self, demands: Demands) -> Result<(), Illegal> {
        let lie_together = self.item_coarsening().is_some_and(|how| how.consecutive);
        if demands.vectors && !lie_together && !mutant!(ItemsApartAreVectors) {
            return Err(Illegal::ApartInVector);
        }
        let of = |split: &Split| match split.level {
            Level::Vector(n) => Some(n),
            _ => None,
        };
        let Some(items) = self.splits.iter().find_map(of) else { return Ok(()) };
        if items != VECTOR {
            return Err(Illegal::Vector(items));
        }
        let rows = self.local[1];
        let can_go_without = rows == 1 || rows.is_multiple_of(VECTOR);
        if can_go_without { Ok(()) } else { Err(Illegal::Rows(rows)) }
    }
}
