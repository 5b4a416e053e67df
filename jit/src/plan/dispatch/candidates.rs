//! Candidates for the schedule of a group, and the choice: the cheapest one that is legal.
//!
//! Each function proposes schedules of one kind, or none: it knows what that kind asks of the members' code and of the
//! device, and whether it gains anything. What transformations ask of each other is said in [`Schedule::legal`], and which of two
//! schedules is better in [`Schedule::cost`], once for all of them.
//!
//! Proposing writes nothing. A candidate depends on the list, the group, its promotions and the limits ([`Finished`]). What
//! follows from the members' ids is only true of the ids that these are submitted with: loops that are unrolled, branches that go one
//! way, results that are kept, push constants ([`Context`]). Kinds that give members other ids ([`by_number`]) do without,
//! and come first.
//!
//! # Requires
//! - a finished group and its promotions
//!
//! # Guarantees
//! - there is a schedule: work as it was submitted is legal for any group
//! - no number of the call is in the code: those that a schedule passes are push constants

use crate::plan::dispatch::block_coarsening::{self, CoarsenedBlocks};
use crate::plan::dispatch::candidate::Candidate;
use crate::plan::dispatch::context::{Context, Finished};
use crate::plan::dispatch::{item_coarsening, superword, thread_coarsening};
use crate::plan::input::options::FloatMode;
use crate::plan::output::report::AloneReason;
use crate::schedule::{BlockCoarsening, Packing, Schedule};

/// Proposes schedules of one kind. `Err`: why work-groups are not coarsened.
pub(crate) type Propose = fn(&Context<'_>) -> Result<Vec<Candidate>, AloneReason>;

/// All kinds that leave members their ids. What one of them proposes costs less than what any behind it does, so these need not be asked.
pub(crate) const ALL: &[Propose] = &[thread_coarsening, block_coarsening, superword, as_submitted];

/// The last of them alone, for a submission by itself.
pub(crate) const AS_SUBMITTED: &[Propose] = &[as_submitted];

/// The best schedule of items by number, if there is one.
pub(crate) fn by_number(finished: &Finished<'_>) -> Option<Candidate> {
    cheapest(finished, item_coarsening::propose(finished))
}

/// The best schedule that leaves members their ids, and why work-groups are not coarsened, if that was asked.
pub(crate) fn choose(context: &Context<'_>, kinds: &[Propose]) -> (Candidate, Option<AloneReason>) {
    let finished = &context.finished;
    let mut alone = None;
    for (number, propose) in kinds.iter().enumerate() {
        match propose(context).map(|candidates| cheapest(finished, candidates)) {
            Ok(Some(best)) => {
                let behind = kinds[number + 1..].iter().filter_map(|propose| propose(context).ok()).flatten();
                let mut legal = behind.filter(|one| one.is_legal(finished));
                debug_assert!(
                    legal.all(|one| best.cost(finished) <= one.cost(finished)),
                    "kinds stand in the order of their costs"
                );
                return (best, alone);
            }
            Ok(None) => {}
            Err(why) => alone = Some(why),
        }
    }
    (Candidate::of_group(context, context.as_submitted()), alone)
}

/// The legal candidate that costs least: the first of several.
fn cheapest(finished: &Finished<'_>, candidates: Vec<Candidate>) -> Option<Candidate> {
    let legal = candidates.into_iter().filter(|one| one.is_legal(finished));
    legal.min_by_key(|one| one.cost(finished))
}

/// Thread coarsening of work-groups: several of them in one, each a sub-group, or several in each sub-group; work-groups of one sub-group; work-groups of
/// fewer invocations.
fn thread_coarsening(context: &Context<'_>) -> Result<Vec<Candidate>, AloneReason> {
    let facts = context.finished.limits.thread_coarsening;
    let in_lanes = thread_coarsening::in_lanes(context).into_iter().find_map(|(groups, left)| {
        let threads = thread_coarsening::choose(context, left)?;
        let lanes = threads.schedule.clone().in_subgroup(facts.subgroup).share_lanes(groups);
        let several = thread_coarsening::side_by_side(context, &threads, groups);
        packed(context, &shuffled(context, side_by_side(lanes, several)))
    });
    let mut candidates: Vec<Candidate> = in_lanes.into_iter().collect();
    let Some(threads) = thread_coarsening::choose(context, facts.invocations) else { return Ok(candidates) };
    let size = Some(facts.subgroup).filter(|&size| size > 1);
    let lanes = size.map(|size| threads.schedule.clone().in_subgroup(size));
    let lanes = lanes.filter(|lanes| context.finished.allows(lanes));
    let several = lanes.as_ref().and_then(|lanes| {
        let groups = thread_coarsening::side_by_side(context, &threads, 1)?;
        Some(side_by_side(lanes.clone(), Some(groups)))
    });
    for lanes in [several, lanes].into_iter().flatten() {
        let alone = shuffled(context, lanes);
        candidates.extend(packed(context, &alone));
        candidates.push(alone);
    }
    candidates.push(Candidate::of_group(context, threads.schedule));
    Ok(candidates)
}

/// Each sub-group does several work-groups side by side, or several times as many as its lanes are.
fn side_by_side(lanes: Schedule, several: Option<u32>) -> Schedule {
    match several {
        Some(groups) => lanes.coarsen_blocks(BlockCoarsening { groups, axis: 0, total: None }),
        None => lanes,
    }
}

/// Work-groups that are lanes of sub-groups, with their shared memory in registers.
fn shuffled(context: &Context<'_>, lanes: Schedule) -> Candidate {
    let Finished { float, limits, .. } = context.finished;
    let mut push = context.push.clone();
    let shuffles = limits.thread_coarsening.shuffles;
    // No compiler saw through what went through shared memory.
    let is_hidden = shuffles && float == FloatMode::Strict && !mutant!(NothingIsHidden);
    let zero = is_hidden.then(|| push.add_zero());
    Candidate { shuffles, zero, push: Some(push), ..Candidate::of_group(context, lanes) }
}

/// A sub-group per work-group.
fn packed(context: &Context<'_>, alone: &Candidate) -> Option<Candidate> {
    let mut push = alone.push.clone()?;
    let groups = thread_coarsening::packing(context, &alone.schedule, context.has_room(&push))?;
    let [count, ..] = alone.schedule.dispatch(alone.groups);
    let total = (!count.is_multiple_of(groups)).then(|| push.add_total(count));
    let schedule = alone.schedule.clone().pack(Packing { groups, total });
    Some(Candidate {
        shuffles: alone.shuffles,
        zero: alone.zero,
        push: Some(push),
        ..Candidate::of_group(context, schedule)
    })
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
            let (needed, limit) = (push.size() + 4, context.finished.limits.max_push_bytes);
            return Err(AloneReason::PushConstants { needed, limit });
        }
    };
    let schedule = context.as_submitted().coarsen_blocks(BlockCoarsening { groups, axis, total });
    Ok(vec![Candidate { push: Some(push), ..Candidate::of_group(context, schedule) }])
}

/// Superword code.
fn superword(context: &Context<'_>) -> Result<Vec<Candidate>, AloneReason> {
    let Some((how, shape)) = superword::choose(&context.finished) else { return Ok(Vec::new()) };
    let line = context.as_submitted().is_line();
    let schedule = Schedule::new(context.finished.group.layout.domain, shape.local, line).superwords(how);
    Ok(vec![Candidate { groups: shape.groups, ..Candidate::of_group(context, schedule) }])
}

/// Work as it was submitted.
fn as_submitted(context: &Context<'_>) -> Result<Vec<Candidate>, AloneReason> {
    Ok(vec![Candidate::of_group(context, context.as_submitted())])
}
