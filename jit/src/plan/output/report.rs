//! What a plan decided, as data: the same object for users, logs and tests.

use std::ops::Range;

use crate::analysis::uniformity::Alone;
use crate::kernel::SetBinding;
use crate::plan::input::submission::{BufferId, Internalization, Promote};
use crate::plan::output::members::Members;
use crate::{Reason, RewriteReason};

/// Groups, splits, promotions and what was taken on trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The dispatches, in order.
    pub groups: Vec<GroupReport>,
    /// Where the list was cut, and why.
    pub splits: Vec<SplitReport>,
    /// Every buffer a promotion was asked for.
    pub buffers: Vec<BufferReport>,
    /// What policy `trust` took without proof.
    pub trusted: Vec<TrustedReport>,
    /// Submissions that run in another order than their own, and so in one kernel with others.
    pub rewrites: Vec<RewriteReport>,
    /// Submissions that are recomputed where their results are read, in the order in which that was done.
    pub inlined: Vec<InlineReport>,
    /// Submissions that are done where what they read is stored, in the order in which that was done.
    pub epilogues: Vec<EpilogueReport>,
    /// In which order the submissions are done, if not in their own.
    pub reordered: Option<ReorderReport>,
    /// Values that stay inside because something else is written over them later in the list.
    pub renamed: Vec<RenameReport>,
}

/// A value that needs no memory, because a later submission of the list writes over it.
///
/// After its last use, each of its bytes is certainly written before it is read, so its absence from memory has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameReport {
    /// The buffer in which it would be.
    pub buffer: BufferId,
    /// Its uses: submissions, and the number of the argument in each.
    pub arguments: Vec<(usize, usize)>,
    /// Its bytes in the memory object, in order.
    pub bytes: Vec<Range<u64>>,
    /// Submissions that write over it.
    pub overwritten_by: Vec<usize>,
    /// Where it is instead.
    pub got: Internalization,
}

impl std::fmt::Display for RenameReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let listed = |mut all: Vec<usize>| {
            all.dedup();
            all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let place = match self.got {
            Internalization::Local => "shared memory",
            Internalization::Private | Internalization::None => "registers",
        };
        let users = listed(self.arguments.iter().map(|one| one.0).collect());
        let by = listed(self.overwritten_by.clone());
        write!(f, "value of submissions {users} in {place}, overwritten by {by}")
    }
}

/// A list that is done in another order than its own, in which more of it is next to each other.
///
/// Of two submissions that touch a byte which one of them may write, the earlier one also is done first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReorderReport {
    /// Positions of all submissions, in the order in which they are done.
    pub order: Vec<usize>,
    /// How many dispatches it would be in its own order.
    pub dispatches: usize,
}

impl std::fmt::Display for ReorderReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let order: Vec<String> = self.order.iter().map(ToString::to_string).collect();
        write!(f, "in the order {}, instead of {} dispatches", order.join(", "), self.dispatches)
    }
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupReport {
    /// Positions in the list, in the order in which they are done.
    pub members: Members,
    /// Whether several kernels run as one.
    pub fused: bool,
    /// Local size of the dispatch.
    pub work_group: [u32; 3],
    /// Which invocation does which work ([`Step::schedule`](crate::plan::Step::schedule)).
    pub schedule: String,
    /// Invocations of the kernels one invocation of the dispatch does. Of superword code it is one where the code has no path for several, which is
    /// known when it is built.
    pub items_per_invocation: u32,
    /// Places in the kernels that load what the invocation has stored before, and take it from a register.
    pub loads_kept: u32,
    /// Words that loops load in common which are too long to be unrolled as a whole, as far as the device has registers for them.
    pub may_keep: u32,
    /// Work-groups of the kernels that one work-group of the dispatch does (block coarsening).
    pub work_groups: u32,
    /// Bytes of the kernels' push constants that are passed in a uniform buffer of the engine, because there is no room for them.
    pub push_buffer_bytes: u32,
    /// Why its work-groups are not coarsened, if that might be worth it on the device.
    pub alone: Option<AloneReason>,
    /// One entry between each two members.
    pub barriers: Vec<BarrierReport>,
}

/// Why the work-groups of a dispatch are not coarsened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AloneReason {
    /// A kernel does not allow it.
    #[error("submission {submission}: {why}")]
    Member {
        /// Position in the list.
        submission: usize,
        /// What in it.
        why: Alone,
    },
    /// A kernel with barriers has fewer work-groups than the dispatch.
    #[error("submission {submission} has barriers and fewer work-groups than others")]
    Guarded {
        /// Position in the list.
        submission: usize,
    },
    /// Something was taken on trust.
    #[error("not all of it is proven")]
    Trusted,
    /// There would be too few left for the device.
    #[error("of {work_groups} work-groups, at least {least} have to be left")]
    Few {
        /// Work-groups of the dispatch.
        work_groups: u64,
        /// How many have to be left.
        least: u32,
    },
    /// More shared memory than the device has.
    #[error("{needed} bytes of shared memory of {limit}")]
    SharedMemory {
        /// Bytes that it would take.
        needed: u64,
        /// What the device has.
        limit: u32,
    },
    /// Loops that are done for one work-group after another would go round more often than the driver lets them, or it is not known
    /// how often they do.
    #[error("the driver ends loops after {limit} iterations")]
    LoopRounds {
        /// Rounds after which it does.
        limit: u64,
    },
    /// More private variables than are kept in registers.
    #[error("{needed} bytes of private variables of {limit}")]
    Registers {
        /// Bytes that it would take.
        needed: u64,
        /// How many are worth it.
        limit: u32,
    },
    /// No push constant is left for the number of work-groups.
    #[error("{needed} bytes of push constants of {limit}")]
    PushConstants {
        /// Bytes that it would take.
        needed: u32,
        /// What the device has.
        limit: u32,
    },
}

/// What stands between two members of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierReport {
    /// The barrier would come after this submission.
    pub after: usize,
    /// Whether there is one.
    pub kept: bool,
    /// Why.
    pub reason: BarrierReason,
}

/// Why there is or is not a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BarrierReason {
    /// No data is passed here.
    #[error("no-dependency")]
    NoDependency,
    /// What would be passed here is computed again where it is read.
    #[error("recomputed")]
    Recomputed,
    /// Data is passed within one invocation only.
    #[error("same-invocation")]
    SameInvocation,
    /// Data is passed within a work-group.
    #[error("same-work-group")]
    SameGroup,
    /// A barrier was needed for something else at this place or later.
    #[error("covered-by-another-barrier")]
    Covered,
    /// Nothing is proven; the user is trusted (policy `trust`).
    #[error("trusted")]
    Trusted,
    /// A barrier is needed and was switched off (`no_barriers` under `trust`).
    #[error("switched-off")]
    SwitchedOff,
}

/// A cut between two submissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitReport {
    /// The cut comes after this submission.
    pub after: usize,
    /// The buffer that decided.
    pub buffer: Option<BufferId>,
    /// Why.
    pub reason: Reason,
    /// The accesses that decided, as text.
    pub detail: String,
    /// Why no rewrite closed it, if one was tried.
    pub tried: Option<RewriteReason>,
}

/// A submission whose items are done in the order in which another goes through its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewriteReport {
    /// Position of the submission.
    pub submission: usize,
    /// Position of the other; of squares, whose index their width is from, which may be the same.
    pub partner: usize,
    /// Which invocation does which item.
    pub places: Places,
    /// Local size it runs with.
    pub work_group: [u32; 3],
    /// Work-group counts it runs with.
    pub groups: [u32; 3],
    /// Its invocations as it was submitted, as often as each has rounds: its items.
    pub items: u64,
    /// Rounds of an invocation, if each of them is an item: those of its loop, or stores that are unrolled. Of work-group `g` round `r` is one of
    /// work-group `g * rounds + r`, unless they are `beside` each other. Else 1.
    pub rounds: u32,
    /// Of rounds that are items: those of an invocation are neighbours, in work-groups that are next to each other. Invocation `x` of a line does
    /// round `x mod rounds` of invocation `x / rounds`.
    pub beside: bool,
    /// Of a group in squares: the sectors of 32 bytes that a thousand of its items touch in lines, and in squares.
    pub sectors: Option<(u64, u64)>,
}

/// A submission (the consumer) that recomputes what another (the producer) stores, instead of loading it.
///
/// The producer also runs by itself, in the same dispatch, unless nothing needs its stores any more ([`gone`](Self::gone)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlineReport {
    /// Position of the consumer.
    pub submission: usize,
    /// Position of the producer.
    pub producer: usize,
    /// The buffer that the elements were passed in.
    pub buffer: BufferId,
    /// The binding that is no longer loaded from.
    pub at: SetBinding,
    /// Loads that were replaced.
    pub loads: u32,
    /// How often one invocation recomputes it, as far as that is known.
    pub times: u64,
    /// Loads that this costs an invocation.
    pub paid: u64,
    /// Bytes of memory traffic that are saved: those that were loaded, and those that were stored if nothing else needs them.
    pub saved: u64,
    /// The producer does not run: its buffer was promoted, and all that was loaded from it is recomputed.
    pub gone: bool,
}

impl Report {
    /// Says of members that pass no data to others because these compute it again, that they do.
    pub(in crate::plan) fn note_recomputed(&mut self) {
        for group in &mut self.groups {
            for barrier in group.barriers.iter_mut().filter(|one| one.reason == BarrierReason::NoDependency) {
                let is_passed = |one: &&InlineReport| {
                    let both = [one.producer, one.submission];
                    let mut both_inside =
                        both.iter().map(|at| group.members.iter().any(|member| member == at));
                    both_inside.all(|inside| inside)
                        && (one.producer..one.submission).contains(&barrier.after)
                };
                if self.inlined.iter().any(|one| is_passed(&one)) {
                    barrier.reason = BarrierReason::Recomputed;
                }
            }
        }
    }

    /// Whether one of these submissions was placed, recomputes another or has an epilogue, or one was placed for it.
    pub(crate) fn is_rewritten(&self, submissions: std::ops::Range<usize>) -> bool {
        let inlined = submissions.clone().any(|at| self.inlined.iter().any(|one| one.changes(at)));
        let epilogues = submissions.clone().any(|at| self.epilogues.iter().any(|one| one.changes(at)));
        let mut placed = self.rewrites.iter();
        inlined
            || epilogues
            || placed.any(|one| submissions.contains(&one.submission) || submissions.contains(&one.partner))
    }
}

impl InlineReport {
    /// Whether the submission at a place was changed: it recomputes another, or has nothing left to do.
    pub(crate) fn changes(&self, at: usize) -> bool {
        self.submission == at || self.gone && self.producer == at
    }
}

impl std::fmt::Display for InlineReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { loads, times, paid, saved, .. } = self;
        let plural = if *loads == 1 { "load" } else { "loads" };
        write!(f, "at {loads} {plural}, {times} times an invocation: {paid} loads for {saved} bytes")
    }
}

/// A submission that is done where another stores what it reads: each of its items right behind the store of the item's element.
///
/// Both are one kernel, in the place of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpilogueReport {
    /// Position of the submission.
    pub submission: usize,
    /// Position of the one that stores.
    pub producer: usize,
    /// The buffer that the elements would be passed in.
    pub buffer: BufferId,
    /// Places in the other's code that store elements.
    pub stores: u32,
    /// How many elements there are.
    pub elements: u64,
    /// Bytes of memory traffic that are saved: those that were loaded, and those that were stored if nothing else needs them. None of halves that are
    /// read back where they are stored.
    pub saved: u64,
    /// The elements are not stored: their buffer was promoted, and nothing else reads them.
    pub gone: bool,
}

impl EpilogueReport {
    /// Whether the submission at a place is not what was asked for any more.
    pub(crate) fn changes(&self, at: usize) -> bool {
        self.submission == at || self.producer == at
    }
}

impl std::fmt::Display for EpilogueReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { stores, elements, saved, .. } = self;
        let plural = if *stores == 1 { "store" } else { "stores" };
        write!(f, "behind {stores} {plural} of {elements} elements, ")?;
        match saved {
            0 => f.write_str("which are read back"),
            _ => write!(f, "for {saved} bytes"),
        }
    }
}

/// Which invocation does which item of a placed submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// Work-group `r`, local index `l` does items `r * length + l + k * local_size` in round `k` of a loop, up to the next row.
    Rows {
        /// Items of a row.
        length: u32,
    },
    /// The same of items that are numbered by their global ids: item `x + counts[0] * (y + counts[1] * z)`.
    Blocks {
        /// Items of a work-group.
        length: u32,
        /// Global ids in each dimension, from 0 on, of items that have something to do.
        counts: [u32; 3],
    },
    /// The invocation at `(x, y)` does item `y * width + x`, where `x < width` and there is such an item.
    Grid {
        /// Items of a row of the grid.
        width: u32,
    },
    /// Invocation `x` of a line does item `x - start`, where there is such an item.
    Line {
        /// The invocation that does the first one.
        start: u32,
    },
    /// Each invocation, by local index, does its own item, in work-groups with more invocations than the submission has.
    Padded {
        /// Invocations of a work-group that have an item, the first ones.
        invocations: u32,
    },
}

impl std::fmt::Display for RewriteReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size: u32 = self.work_group.iter().copied().fold(1, u32::saturating_mul);
        match self.places {
            Places::Rows { length } => {
                write!(f, "item group * {length} + local + k * {size}, rows of {length}")
            }
            Places::Blocks { length, counts: [x, y, _] } => {
                write!(
                    f,
                    "item group * {length} + local + k * {size}, blocks of {length}, numbered by ids of {x} x {y}"
                )
            }
            Places::Grid { width } => write!(f, "item y * {width} + x, rows of {width}"),
            Places::Line { start } => write!(f, "item x - {start}"),
            Places::Padded { invocations } => {
                write!(f, "its own item, {invocations} of {size} invocations of a work-group")
            }
        }?;
        if self.rounds > 1 {
            let beside = if self.beside { ", side by side" } else { "" };
            write!(f, ", each of {} iterations an element{beside}", self.rounds)?;
        }
        let Some((before, after)) = self.sectors else { return Ok(()) };
        write!(f, "; in squares 1000 items touch {after} sectors of 32 bytes, {before} in lines")
    }
}

/// What became of a promotion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferReport {
    /// The buffer.
    pub buffer: BufferId,
    /// What was asked for.
    pub asked: Promote,
    /// What it got.
    pub got: Internalization,
    /// Why it did not get what was asked for.
    pub reason: Option<Reason>,
    /// Why it did not get shared memory either: of [`Promote::Auto`], where that is another reason than the one for registers.
    pub not_local: Option<Reason>,
}

impl BufferReport {
    /// Why it did not get what was asked for, in words.
    pub fn why(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        Some(match &self.not_local {
            Some(not_local) => format!("not in registers: {reason}; not in shared memory: {not_local}"),
            None => reason.to_string(),
        })
    }
}

/// One thing policy `trust` took without proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedReport {
    /// Position of the earlier submission.
    pub first: usize,
    /// Position of the later one.
    pub second: usize,
    /// The buffer; none for memory that is reached by device addresses.
    pub buffer: Option<BufferId>,
    /// What prove would have said.
    pub reason: Reason,
}
