//! Candidates for the schedule of a group, in order of preference. The first one that is legal is taken.
//!
//! Each function proposes schedules of one kind, the best first, or none: it knows what that kind asks of the members' code and of the
//! device, and whether it gains anything. What transformations ask of each other is said in `schedule::legal`, once for all of them.
//!
//! # Requires
//! - a finished group and its promotions
//!
//! # Guarantees
//! - there is a schedule: work as it was submitted is legal for any group
//! - no number of the call is in the code: those that a schedule passes are push constants

use crate::plan::dispatch::block_coarsening::{self, CoarsenedBlocks};
use crate::plan::dispatch::context::Context;
use crate::plan::dispatch::{superword, thread_coarsening};
use crate::plan::output::push::PushBlock;
use crate::plan::output::report::AloneReason;
use crate::schedule::{BlockCoarsening, Packing, Schedule};

/// A schedule and what goes with it.
pub(crate) struct Candidate {
    pub(crate) schedule: Schedule,
    /// Work-group counts of the domain.
    pub(crate) groups: [u32; 3],
    /// Push constants with the numbers that the schedule passes, if there are some.
    pub(crate) push: Option<PushBlock>,
    /// Shared memory is promoted to registers of sub-groups.
    pub(crate) shuffles: bool,
    /// Slot of the zero that hides floats which are handed over in registers, where that has to be.
    pub(crate) zero: Option<u16>,
}

/// Proposes schedules of one kind, the best first. `Err`: why work-groups are not coarsened.
pub(crate) type Propose = fn(&Context<'_>) -> Result<Vec<Candidate>, AloneReason>;

/// All kinds, in order of preference.
pub(crate) const ALL: &[Propose] = &[
    // Items of straight lines next to each other gain most: vectors, and loads in flight together.
    item_coarsening,
    // Groups with barriers: work-groups of one sub-group wait for nobody; otherwise several wait together.
    thread_coarsening,
    block_coarsening,
    // Groups without barriers that are no straight lines: what neighbours load is loaded once.
    superword,
    as_submitted,
];

/// The last of them alone, for a submission by itself.
pub(crate) const AS_SUBMITTED: &[Propose] = &[as_submitted];

/// The first candidate that is legal, and why work-groups are not coarsened, if that was asked.
pub(crate) fn choose(context: &Context<'_>, kinds: &[Propose]) -> (Candidate, Option<AloneReason>) {
    let mut alone = None;
    for propose in kinds {
        match propose(context) {
            Ok(candidates) => {
                let legal = candidates.into_iter().find(|one| context.allows(&one.schedule));
                if let Some(legal) = legal {
                    return (legal, alone);
                }
            }
            Err(why) => alone = Some(why),
        }
    }
    (Candidate::plain(context, context.as_submitted()), alone)
}

impl Candidate {
    /// A schedule that passes no number.
    fn plain(context: &Context<'_>, schedule: Schedule) -> Self {
        let groups = context.group.layout.shape.groups;
        Self { schedule, groups, push: None, shuffles: false, zero: None }
    }
}

/// Thread coarsening of items by number, which `shape` has chosen.
fn item_coarsening(context: &Context<'_>) -> Result<Vec<Candidate>, AloneReason> {
    let Some(chosen) = context.chosen else { return Ok(Vec::new()) };
    let schedule = context.as_submitted();
    let schedule = match chosen.coarsening {
        Some(how) => schedule.coarsen_items(how),
        None => schedule,
    };
    Ok(vec![Candidate::plain(context, schedule)])
}

/// Thread coarsening of work-groups: several of them in one, each a sub-group; work-groups of one sub-group; work-groups of fewer invocations.
fn thread_coarsening(context: &Context<'_>) -> Result<Vec<Candidate>, AloneReason> {
    let Some(threads) = thread_coarsening::choose(context) else { return Ok(Vec::new()) };
    let size = Some(context.limits.thread_coarsening.subgroup).filter(|&size| size > 1);
    let lanes = size.map(|size| threads.clone().in_subgroup(size)).filter(|lanes| context.allows(lanes));
    let mut candidates = Vec::new();
    if let Some(lanes) = lanes {
        let mut push = context.push.clone();
        let shuffles = context.limits.thread_coarsening.shuffles;
        // No compiler saw through what went through shared memory.
        let is_hidden = shuffles && context.is_strict && !mutant!(NothingIsHidden);
        let zero = is_hidden.then(|| push.add_zero());
        let alone = Candidate { shuffles, zero, push: Some(push), ..Candidate::plain(context, lanes) };
        candidates.extend(packed(context, &alone));
        candidates.push(alone);
    }
    candidates.push(Candidate::plain(context, threads));
    Ok(candidates)
}

/// A sub-group per work-group.
fn packed(context: &Context<'_>, alone: &Candidate) -> Option<Candidate> {
    let mut push = alone.push.clone()?;
    let several = alone.schedule.thread_coarsening()?;
    let groups = thread_coarsening::packing(context, several, context.has_room(&push))?;
    let count = alone.groups[0];
    let total = (!count.is_multiple_of(groups)).then(|| push.add_total(count));
    let schedule = alone.schedule.clone().pack(Packing { groups, total });
    Some(Candidate { schedule, push: Some(push), ..*alone })
}

/// Block coarsening.
fn block_coarsening(context: &Context<'_>) -> Result<Vec<Candidate>, AloneReason> {
    let Some(CoarsenedBlocks { groups, axis, count }) = block_coarsening::choose(context)? else {
        return Ok(Vec::new());
    };
    let mut push = context.push.clone();
    let total = match count.is_multiple_of(groups) {
        true => None,
        false if context.has_room(&push) => Some(push.add_total(count)),
        false => {
            let (needed, limit) = (push.size() + 4, context.limits.max_push_bytes);
            return Err(AloneReason::PushConstants { needed, limit });
        }
    };
    let schedule = context.as_submitted().coarsen_blocks(BlockCoarsening { groups, axis, total });
    Ok(vec![Candidate { push: Some(push), ..Candidate::plain(context, schedule) }])
}

/// Superword code.
fn superword(context: &Context<'_>) -> Result<Vec<Candidate>, AloneReason> {
    let Some((how, shape)) = superword::choose(context) else { return Ok(Vec::new()) };
    let line = context.as_submitted().is_line();
    let schedule = Schedule::new(context.group.layout.domain, shape.local, line).superwords(how);
    Ok(vec![Candidate { groups: shape.groups, ..Candidate::plain(context, schedule) }])
}

/// Work as it was submitted.
fn as_submitted(context: &Context<'_>) -> Result<Vec<Candidate>, AloneReason> {
    Ok(vec![Candidate::plain(context, context.as_submitted())])
}
