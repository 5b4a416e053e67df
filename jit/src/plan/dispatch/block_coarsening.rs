//! Block coarsening: how many work-groups of a group with barriers one work-group does (`emit::passes::unroll_and_jam`).
//!
//! A kernel by rows waits at each barrier until the slowest of its work-group has come. Several rows in one work-group wait
//! together, and the loads of one are in flight while those of another are waited for.
//!
//! # Requires
//! - a finished group and its promotions; work-groups of it that never meet, which is what theorem 2 has shown
//!
//! # Guarantees
//! - a number that the members' control flow, the shared memory and the registers allow
//! - no number of the call is in the code: that of the work-groups travels as a push constant, if it is no multiple

use std::cmp::Reverse;

use crate::plan::dispatch::context::{Context, Finished};
use crate::plan::grouping::group::Group;
use crate::plan::grouping::mapping::Layout;
use crate::plan::input::submission::{Internalization, Submission};
use crate::plan::output::recipe::Unroll;
use crate::plan::output::report::AloneReason;
use crate::plan::promotion::internalize::Granted;

/// Neighbouring work-groups that one work-group does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CoarsenedBlocks {
    pub(crate) groups: u32,
    /// The dimension in which they follow each other.
    pub(crate) axis: u8,
    /// How many there are in that dimension.
    pub(crate) count: u32,
}

/// The work-groups that one does, or why they are not coarsened.
///
/// `Ok(None)`: nothing is gained by it on the device, or by this group.
pub(crate) fn choose(context: &Context<'_>) -> Result<Option<CoarsenedBlocks>, AloneReason> {
    let Context { finished, kept, unrolled, .. } = *context;
    let Finished { group, granted, limits, .. } = finished;
    let (facts, members) = (limits.block_coarsening, finished.members());
    if facts.work_groups <= 1 || !waits_together(context)? {
        return Ok(None);
    }
    let counts = group.layout.shape.groups;
    let kernels = members.iter().filter_map(|member| member.kernel.normal.as_ref().ok());
    let tiles = kernels.filter(|normal| normal.analysis.loops.iter().any(|one| one.parent.is_some()));
    let (tiles, loads) = tiles.fold((0, [0u32; 3]), |(number, loads), normal| {
        let own = normal.loads_by_side();
        (number + 1, std::array::from_fn(|axis| loads[axis].saturating_add(own[axis])))
    });
    let most = facts.work_groups.min(MOST_OF_TILES.checked_div(tiles).map_or(MOST, |most| most.max(2)));
    let side = |axis: &usize| (counts[*axis] >= most, Reverse(loads[*axis]), counts[*axis], Reverse(*axis));
    let axis = (0..3).max_by_key(side).unwrap_or(0);
    let (count, all) = (counts[axis], counts.iter().map(|&n| u64::from(n)).product::<u64>());
    let shared = shared_bytes(members, granted);
    let private = registers(granted) + kept.iter().map(|one| one.bytes).sum::<u64>();
    // Behind a guard the loads of several work-groups are in flight together, and take registers of their own.
    let guarded = unrolled.iter().flatten().any(|one| one.is_guarded() && one.copies() > 1);
    let private = if guarded { 2 * private } else { private };
    let first = unrolled.iter().flatten().map(Unroll::first).fold(0, u32::max);
    let private = private + 4 * u64::from(first);
    let mut why = AloneReason::Few { work_groups: all, least: facts.least };
    let most_shared = match facts.shared_bytes {
        0 => limits.max_shared_bytes,
        bytes => bytes.min(limits.max_shared_bytes),
    };
    let mut groups = most;
    while groups > 1 {
        let left = all / u64::from(count.max(1)) * u64::from(count.div_ceil(groups));
        let taken = |one: u64| one * u64::from(groups);
        if count < groups || left < u64::from(facts.least) {
            why = AloneReason::Few { work_groups: all, least: facts.least };
        } else if let Some(limit) = limits.max_loop_rounds.filter(|&limit| !fits(group, groups, limit)) {
            why = AloneReason::LoopRounds { limit };
        } else if taken(shared) > u64::from(most_shared) && !mutant!(IgnoreLimits) {
            why = AloneReason::SharedMemory { needed: taken(shared), limit: most_shared };
        } else if taken(private) > u64::from(facts.private_bytes) {
            why = AloneReason::Registers { needed: taken(private), limit: facts.private_bytes };
        } else {
            return Ok(Some(CoarsenedBlocks { groups, axis: axis as u8, count }));
        }
        groups = groups.next_power_of_two() / 2;
    }
    Err(why)
}

/// Whether one work-group can do several side by side that wait at the same barriers, or why not. `false`: nothing waits, or the dispatch has other
/// work-groups than the members.
pub(in crate::plan) fn waits_together(context: &Context<'_>) -> Result<bool, AloneReason> {
    let Context { finished, resolved, barriers, .. } = *context;
    let Finished { group, .. } = finished;
    if !group.layout.domain.keeps_work_groups() {
        return Ok(false);
    }
    let mut waits = barriers;
    for (submission, member) in (group.start..).zip(finished.members()) {
        let why = |why| AloneReason::Member { submission, why };
        let Ok(normal) = &member.kernel.normal else { return Ok(false) };
        let branches = resolved.get(submission - group.start).map_or(&[][..], Vec::as_slice);
        let own = normal.waits_in_coarsened_blocks().or_else(|alone| match branches {
            [] => Err(alone),
            _ => normal.waits_without(branches),
        });
        let own = own.map_err(why)?;
        if own && is_guarded(&group.layout, member) && !mutant!(BarriersMayPart) {
            return Err(AloneReason::Guarded { submission });
        }
        waits |= own;
    }
    if !waits {
        return Ok(false);
    }
    if !group.trusted.is_empty() {
        return Err(AloneReason::Trusted);
    }
    Ok(true)
}

/// Whether the loops stay within the driver's limit of iterations when they run for `groups` work-groups, one after another, as serialized constructs
/// and the code for the remainder do.
pub(in crate::plan) fn fits(group: &Group, groups: u32, limit: u64) -> bool {
    let groups = u128::from(if mutant!(RoundsInTurnAreOne) { 1 } else { groups });
    let most = group.loop_rounds().and_then(|rounds| (rounds + 1).checked_mul(groups)?.checked_add(1));
    most.is_some_and(|most| most <= u128::from(limit))
}

/// Most work-groups that one does: the code grows with them.
const MOST: u32 = 16;

/// Most work-groups of a kernel with loops in loops, as those of matrix products in tiles are, whose invocations have enough to do
/// between two barriers. Several of them in a group take their registers one after another, and what they make has to be kept: they share this.
const MOST_OF_TILES: u32 = 4;

/// Most bytes of internalized elements that an invocation holds at any one time. Between two members these are the elements that were stored
/// before, and are read afterwards; inside of a member, those that it alone uses count as well.
pub(crate) fn registers(granted: &[Granted]) -> u64 {
    let private = || granted.iter().filter(|one| one.internal.kind == Internalization::Private);
    let span = |one: &Granted| {
        let members = one.uses.iter().map(|of| of.member);
        members.clone().min().zip(members.max())
    };
    let spans: Vec<(usize, usize, u64)> =
        private().filter_map(|one| span(one).map(|(first, last)| (first, last, one.bytes))).collect();
    let behind = |member: usize| {
        let alive = spans.iter().filter(|&&(first, last, _)| {
            first <= member && (member < last || first == last && member == last)
        });
        alive.map(|&(.., bytes)| bytes).sum::<u64>()
    };
    spans.iter().flat_map(|&(first, last, _)| [first, last]).map(behind).max().unwrap_or(0)
}

/// Bytes of the shared memory of a work-group.
pub(in crate::plan) fn shared_bytes(members: &[Submission], granted: &[Granted]) -> u64 {
    let own = members.iter().map(|one| u64::from(one.kernel.interface.workgroup_bytes)).sum::<u64>();
    let local = granted.iter().filter(|one| one.internal.kind == Internalization::Local);
    own + local.map(|one| one.bytes).sum::<u64>()
}

/// Whether some work-groups of the dispatch have nothing to do for a member.
fn is_guarded(layout: &Layout, member: &Submission) -> bool {
    !layout.keeps_groups(member) && layout.needs_guard(member)
}
