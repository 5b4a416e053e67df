//! Thread coarsening of work-groups with barriers: fewer invocations, each doing the work of several (`emit::passes::unroll_and_jam`).
//!
//! At each step of a tree in shared memory all sub-groups of a work-group wait for each other. A single sub-group need not wait, and the loads that
//! one invocation does for several are in flight together.
//!
//! # Requires
//! - a finished group and its promotions; work-groups of it that never meet, which is what theorem 2 has shown
//!
//! # Guarantees
//! - a divisor of the work-group's size that the members' control flow and the registers allow
//! - the same work-groups; no number of the call is in the code

use crate::analysis::access::AccessKind;
use crate::analysis::affine::Atom;
use crate::analysis::evaluate::AccessForm;
use crate::analysis::resolved_branches::ResolvedBranch;
use crate::kernel::NormalKernel;
use crate::plan::dispatch::context::{Context, Finished};
use crate::plan::dispatch::{block_coarsening, push_ranges};
use crate::plan::grouping::group::Group;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::{Internalization, Submission};
use crate::plan::output::recipe::Unroll;
use crate::plan::promotion::internalize::Granted;
use crate::schedule::Schedule;

/// Most invocations of the kernels that one does: the code grows with them.
const MOST: u32 = 32;

/// Work-groups of fewer invocations.
pub(crate) struct CoarsenedThreads {
    pub(crate) schedule: Schedule,
    /// Invocations that one does.
    pub(crate) several: u32,
    /// Those of them that have an element of a short row.
    live: u32,
    /// Bytes of private variables of all of these, and of what their loads have in flight.
    private: u64,
}

/// The schedule in which work-groups have this many invocations left, each doing the work of several, if that gains anything.
pub(crate) fn choose(context: &Context<'_>, left: u32) -> Option<CoarsenedThreads> {
    let Context { finished, kept, unrolled, resolved, barriers, .. } = *context;
    let Finished { group, granted, limits, .. } = finished;
    let (facts, members) = (limits.thread_coarsening, finished.members());
    let shape = group.layout.shape;
    let size = shape.local[0];
    let several = size.checked_div(left)?;
    let live = short_row(context).map_or(several, |row| several.min(row.div_ceil(left)));
    let work_groups = shape.groups.iter().map(|&n| u64::from(n)).product::<u64>();
    if !(2..=MOST).contains(&several) || work_groups < u64::from(facts.least) {
        return None;
    }
    let schedule = context.as_submitted().coarsen_threads(left);
    if !finished.allows(&schedule) {
        return None;
    }
    if !facts.any_loops && is_read_again(members, group, granted) {
        return None;
    }
    // Then nothing is waited for at a step of a tree, and rounds that not all invocations do cost less than that gains (`docs/performance.md`): of one tree
    // alone, if they are few.
    let in_registers = facts.shuffles && facts.packed > 1 && facts.subgroup == facts.invocations;
    let trees = members.iter().filter(|one| one.kernel.interface.has_barrier).count();
    let rounds = match (in_registers, trees) {
        (false, _) => 0,
        (true, ..=1) => 2,
        (true, _) => u32::MAX,
    };
    let (mut waits, mut loaded) = (barriers, 0);
    for (number, member) in members.iter().enumerate() {
        let branches = resolved.get(number).map_or(&[][..], Vec::as_slice);
        let own = waits_for_others(member, shape.local, branches)?;
        let loops = unrolled.get(number).map_or(&[][..], Vec::as_slice);
        loaded = loaded.max(in_flight(member, loops));
        let is_waited_for = member.kernel.interface.has_barrier || keeps(granted, group.start + number);
        if !facts.any_loops && !are_unrolled(member, loops, is_waited_for, rounds) {
            return None;
        }
        waits |= own;
    }
    let private = block_coarsening::registers(granted) + kept.iter().map(|one| one.bytes).sum::<u64>();
    let private = private.max(loaded) * u64::from(live);
    let fits = private <= u64::from(facts.private_bytes)
        && limits.max_loop_rounds.is_none_or(|limit| block_coarsening::fits(group, several, limit));
    (waits && group.trusted.is_empty() && fits).then_some(CoarsenedThreads {
        schedule,
        several,
        live,
        private,
    })
}

/// The longest row of the group that is no longer than its work-groups.
fn short_row(context: &Context<'_>) -> Option<u32> {
    let Context { finished, unrolled, .. } = *context;
    let size = finished.group.layout.shape.local[0];
    let loops = (0..).map(|number: usize| unrolled.get(number).map_or(&[][..], Vec::as_slice));
    let rows = finished.members().iter().zip(loops);
    let is_long = rows.clone().any(|(member, loops)| push_ranges::has_long_row(member, loops, size));
    let lengths = rows.filter_map(|(member, loops)| push_ranges::short_row(member, loops, size));
    lengths.max().filter(|_| !is_long)
}

/// How many work-groups are the lanes of one sub-group, from the most, and how many lanes each is: those of short rows, whose trees have fewer steps
/// then, and these serve several of them. Measured (`docs/journal.md`).
pub(crate) fn in_lanes(context: &Context<'_>) -> Vec<(u32, u32)> {
    let Finished { group, limits, .. } = context.finished;
    let facts = limits.thread_coarsening;
    let groups = group.layout.shape.groups;
    let all = groups.iter().map(|&n| u64::from(n)).product::<u64>();
    let is_one = facts.subgroup.is_power_of_two() && facts.subgroup == facts.invocations;
    let row = short_row(context).or(facts.any_loops.then_some(group.layout.shape.local[0]));
    let (Some(row), true) = (row, is_one && facts.shuffles && facts.packed > 1 && facts.lane_elements > 0)
    else {
        return Vec::new();
    };
    let least = row.div_ceil(facts.lane_elements).next_power_of_two();
    let parts = (0..facts.subgroup.ilog2()).map(|bits| 1 << bits).filter(|&left| left >= least);
    let ways = parts.map(|left| (facts.subgroup / left, left)).filter(|&(several, _)| {
        (groups[0].is_multiple_of(several) || mutant!(SubgroupsCover))
            && all / u64::from(several) >= u64::from(facts.least)
    });
    let ways: Vec<(u32, u32)> = ways.collect();
    if ways.is_empty() || !block_coarsening::waits_together(context).is_ok_and(|waits| waits) {
        return Vec::new();
    }
    ways
}

/// Most elements of a row for each lane of a sub-group that does several of them: those of longer ones are enough to have in flight.
const FEW: u32 = 2;

/// Most elements of short rows that a lane has of all that a sub-group does, where that does several in its lanes.
const IN_FLIGHT: u32 = 8;

/// How many work-groups a sub-group does side by side, or times as many as its lanes are, if that is more than one. Trees of short rows wait for each step, and what is loaded for one row
/// is too little to have in flight. Measured (`docs/journal.md`).
pub(crate) fn side_by_side(context: &Context<'_>, threads: &CoarsenedThreads, in_lanes: u32) -> Option<u32> {
    let finished = context.finished;
    let Finished { group, limits, .. } = finished;
    let facts = limits.thread_coarsening;
    let are_short = short_row(context).is_some_and(|row| row.div_ceil(facts.invocations) <= FEW);
    if !facts.any_loops && (!are_short || gathers(&finished)) {
        return None;
    }
    let groups = group.layout.shape.groups;
    let all = groups.iter().map(|&n| u64::from(n)).product::<u64>();
    let fits = |&several: &u32| {
        let together = several * in_lanes;
        let is_little = facts.any_loops || in_lanes == 1 || threads.live * several <= IN_FLIGHT;
        (groups[0].is_multiple_of(together) || mutant!(SubgroupsCover))
            && all / u64::from(together) >= u64::from(facts.least)
            && is_little
            && threads.live * several <= MOST
            && threads.private * u64::from(several) <= u64::from(facts.private_bytes)
            && limits.max_loop_rounds.is_none_or(|limit| {
                block_coarsening::fits(group, threads.several.saturating_mul(several), limit)
            })
    };
    let powers = (1..MOST.ilog2()).rev().map(|n| 1 << n).filter(|&several| several <= facts.side_by_side);
    let several = powers.into_iter().find(fits)?;
    block_coarsening::waits_together(context).is_ok_and(|waits| waits).then_some(several)
}

/// Whether a member loads at an index that it loaded before: rows side by side would wait for these loads one after another.
fn gathers(finished: &Finished<'_>) -> bool {
    let Finished { group, granted, .. } = *finished;
    let is_inside = |buffer| granted.iter().any(|g| g.buffer == buffer);
    finished.members().iter().zip(&group.forms).any(|(one, forms)| {
        let Ok(analysis) = analysis_of(one) else { return true };
        analysis.accesses.iter().zip(forms).any(|(access, form)| {
            let is_load = access.kind != AccessKind::Write && !form.never;
            let is_free = |id| matches!(group.atoms.get(id), Atom::Free { .. } | Atom::Element { .. });
            let is_open = form.unknown || form.offset.terms.iter().any(|&(id, _)| is_free(id));
            is_load && is_open && !is_inside(one.args[access.binding].buffer)
        })
    })
}

/// How many sub-groups, which do a work-group of the kernels each, or several, are in one work-group; `has_room` says whether there is room for a number
/// to pass: theirs, where it is no multiple.
pub(crate) fn packing(context: &Context<'_>, lanes: &Schedule, has_room: bool) -> Option<u32> {
    let Finished { group, granted, limits, .. } = context.finished;
    let facts = limits.thread_coarsening;
    let each = lanes.groups_per_work_group();
    let shared = block_coarsening::shared_bytes(context.finished.members(), granted);
    let shared = shared.saturating_mul(each.into());
    let (left, groups) = (lanes.work_group()[0], lanes.dispatch(group.layout.shape.groups));
    let most = limits.max_work_group_size[0].min(limits.max_work_group_invocations);
    let all = groups.iter().map(|&n| u64::from(n)).product::<u64>();
    let mut packed = facts.packed.min(MOST).next_power_of_two();
    while packed > 1 {
        let fits = packed <= facts.packed.min(limits.max_subgroups)
            && left.saturating_mul(packed) <= most
            && shared.saturating_mul(packed.into()) <= u64::from(limits.max_shared_bytes)
            && all >= u64::from(facts.least)
            && packed <= groups[0]
            && (has_room && facts.uniform || groups[0].is_multiple_of(packed));
        if fits {
            return Some(packed);
        }
        packed /= 2;
    }
    None
}

/// Whether a member has barriers, if several of its invocations can be done by one.
fn waits_for_others(member: &Submission, local: [u32; 3], resolved: &[ResolvedBranch]) -> Option<bool> {
    let interface = &member.kernel.interface;
    let normal = member.kernel.normal.as_ref().ok()?;
    if interface.uses_device_addresses || interface.local_size != local || member.base != [0; 3] {
        return None;
    }
    normal.waits_in_coarsened_threads(resolved).ok()
}

/// Bytes that rounds of a loop of a member load from a buffer where they stand one after another: they are in flight together, in registers.
fn in_flight(member: &Submission, loops: &[Unroll]) -> u64 {
    let Ok(normal) = &member.kernel.normal else { return 0 };
    let reads = normal.analysis.accesses.iter().filter(|access| access.kind != AccessKind::Write);
    let of_loops = reads.flat_map(|access| {
        let around = move |how: &&Unroll| access.loops.iter().any(|one| one.0 == how.index() as usize);
        loops.iter().filter(around).map(|how| access.size * u64::from(how.copies()))
    });
    of_loops.max().unwrap_or(0)
}

/// Whether elements that a member writes to memory are read there by a later one, each invocation its own: what one invocation does of that waits for
/// memory one after another. Measured (`docs/performance.md`).
fn is_read_again(members: &[Submission], group: &Group, granted: &[Granted]) -> bool {
    let is_inside = |buffer| granted.iter().any(|g| g.buffer == buffer);
    let is_own = |form: &AccessForm| {
        let own = |id| matches!(group.atoms.get(id), Atom::Local(_) | Atom::Global(_) | Atom::Round { .. });
        form.unknown || form.offset.terms.iter().any(|&(id, _)| own(id))
    };
    let mut written = Vec::new();
    members.iter().zip(&group.forms).any(|(one, forms)| {
        let Ok(analysis) = analysis_of(one) else { return true };
        let own = analysis.accesses.iter().zip(forms).filter(|(_, form)| !form.never && is_own(form));
        let touched = own.map(|(access, _)| (access.kind, one.args[access.binding].buffer));
        let outside = touched.filter(|(_, buffer)| !is_inside(*buffer));
        let again =
            outside.clone().any(|(kind, buffer)| kind != AccessKind::Write && written.contains(&buffer));
        written.extend(outside.filter(|(kind, _)| *kind != AccessKind::Read).map(|(_, buffer)| buffer));
        again
    })
}

/// Whether a member has something to itself.
fn keeps(granted: &[Granted], member: usize) -> bool {
    let private = granted.iter().filter(|one| one.internal.kind == Internalization::Private);
    private.flat_map(|one| &one.uses).any(|of| of.member == member)
}

/// Whether all loops of a member are unrolled completely, without a last round that only some invocations do. Such a round is allowed in loops of at most
/// `rounds` rounds, and in loops of a single round if the member has no barrier that waits for it, as where a work-group does something once for its row.
fn are_unrolled(member: &Submission, loops: &[Unroll], waits: bool, rounds: u32) -> bool {
    let whole = |how: &&Unroll| match how {
        Unroll::Whole { most, .. } => !how.is_guarded() || *most <= rounds || *most == 1 && !waits,
        Unroll::Part { .. } => false,
    };
    let count = |normal: &NormalKernel| normal.analysis.loops.len();
    member.kernel.normal.as_ref().is_ok_and(|normal| loops.iter().filter(whole).count() == count(normal))
}
