//! Members with smaller work-groups than another one become the first invocations of larger work-groups.
//!
//! Kernels with barriers or shared memory cannot be re-indexed. Where such a one has another local size than the group, and
//! nothing else lets them join, the smaller work-groups of all members get the largest local size, with invocations that have nothing to do
//! ([`rewrite::pad`]). Each work-group of a padded member does what it did, so that nothing has to be shown of numbers; theorems 1 to 3 decide about the list
//! as about any other.
//!
//! # Requires
//! - a group, and a submission that does not join it because of its local size
//!
//! # Guarantees
//! - invocation `i` of a member's work-group is invocation `i`, by local index, of the padded one
//!
//! # Refuses
//! - submissions that read nothing which the group writes
//! - members that were placed on the elements of another
//! - work-groups with many idle invocations, where the member alone would use more of the device
//! - members with sub-group operations, unless theirs are whole sub-groups of a known size, which stay together beside idle ones

use super::epilogue::overlap;
use super::idle;
use super::place::grow;
use super::proposal::{Known, Placed};
use crate::plan::grouping::group::{Group, Rejection};
use crate::plan::input::limits::SubgroupLimits;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::Submission;
use crate::plan::output::report::{Places, RewriteReport};
use crate::reason::{Reason, RewriteReason};
use crate::rewrite;

/// A work-group with more invocations than this for each one that has something to do leaves too much of a device idle.
const MOST_IDLE: u64 = 4;

/// Tries to let the next submission join by padding; `Err(None)` if there is nothing to try. As [`across`](super::place::across).
pub(in crate::plan) fn across(
    problem: Problem<'_>,
    group: &mut Group,
    why: &Rejection,
    known: Known<'_>,
) -> Result<Placed, Option<RewriteReason>> {
    let Problem { list, options, .. } = problem;
    let members = group.start..group.end() + 1;
    let hands_on = || (group.start..group.end()).any(|at| hands_on(&list[at], &list[group.end()]));
    if options.no_rewrites || !matches!(why.reason, Reason::LocalSize { .. }) || !hands_on() {
        return Err(None);
    }
    let size = |at: usize| list[at].kernel.interface.local_size;
    let is_idle = |at: &usize| idle::is_idle(&list[*at]);
    // Of several, the first one.
    let working = members.clone().filter(|at| !is_idle(at)).rev();
    let largest = working.max_by_key(|&at| invocations(size(at))).ok_or(None)?;
    let local = size(largest);
    // What is padded is proven, also where other things are trusted.
    let proven = problem.proven();
    let problem = problem.with_options(&proven);
    let (mut padded, mut rewrites, mut idle) = (list.to_vec(), Vec::new(), Vec::new());
    for at in members.clone().filter(|&at| size(at) != local) {
        let one = &list[at];
        if is_idle(&at) {
            padded[at] = idle::idle(&one.kernel, one.groups, local).ok_or(None)?;
            idle.push(at);
            continue;
        }
        if one.base != [0; 3] || known.rewrites.iter().any(|other| other.submission == at) {
            return Err(None);
        }
        pays(problem, one, local)?;
        let lanes = lanes(problem, one, local).map_err(|what| RewriteReason::NotPadded { what })?;
        padded[at].kernel = rewrite::pad(&one.kernel, local, lanes)?;
        let own = invocations(size(at));
        rewrites.push(RewriteReport {
            submission: at,
            partner: largest,
            places: Places::Padded { invocations: own as u32 },
            work_group: local,
            groups: one.groups,
            items: one.groups.iter().map(|&count| u64::from(count)).product::<u64>() * own,
            rounds: 1,
            beside: false,
            sectors: None,
        });
    }
    match grow(problem.with_list(&padded), members) {
        Ok(grown) => *group = grown,
        Err(rejection) => return Err(Some(RewriteReason::Rejected(Box::new(rejection.reason)))),
    }
    Ok(Placed::of(list, padded, rewrites, &idle))
}

/// Whether a submission may read what an earlier one writes.
fn hands_on(first: &Submission, second: &Submission) -> bool {
    let [theirs, own] = [first, second].map(|one| one.args.iter().zip(&one.kernel.interface.bindings));
    let mut written = theirs.filter(|(_, binding)| binding.writes);
    written.any(|(arg, _)| own.clone().any(|(other, binding)| binding.reads && overlap(arg, other)))
}

fn invocations(local: [u32; 3]) -> u64 {
    local.iter().map(|&size| u64::from(size)).product()
}

/// Size of the sub-groups that a submission's kernel needs in work-groups of this size, if it does, or what keeps it from these.
fn lanes(problem: Problem<'_>, one: &Submission, local: [u32; 3]) -> Result<Option<u32>, &'static str> {
    let SubgroupLimits { size, together } = problem.limits.subgroups;
    let (own, all) = (invocations(one.kernel.interface.local_size), invocations(local));
    let is_whole = |number: u64| number.is_multiple_of(u64::from(size));
    if !rewrite::knows_subgroups(&one.kernel) {
        Ok(None)
    } else if size == 0 {
        Err("sub-group operations, and the device has no full sub-groups of a known size")
    } else if !together && !mutant!(SubgroupsPart) {
        Err("sub-group operations, and sub-groups may part on the device where work-groups do")
    } else if !is_whole(own) && !mutant!(SubgroupsAreWhole) {
        Err("sub-group operations, and work-groups that are no whole sub-groups")
    } else if local[1..] != [1, 1] || !is_whole(all) {
        Err("sub-group operations, and the larger work-groups are no lines of whole sub-groups")
    } else if all / u64::from(size) > u64::from(problem.limits.max_subgroups) {
        Err(
            "sub-group operations, and the larger work-groups more sub-groups than the device lets ask for their size",
        )
    } else {
        Ok(Some(size))
    }
}

/// Whether a submission does not become slower with idle invocations: there are few of them, or all work-groups fit onto the device side by side.
fn pays(problem: Problem<'_>, one: &Submission, local: [u32; 3]) -> Result<(), RewriteReason> {
    let Problem { options, limits, .. } = problem;
    let (own, all) = (invocations(one.kernel.interface.local_size), invocations(local));
    let groups: u64 = one.groups.iter().map(|&count| u64::from(count)).product();
    let has_room = groups.saturating_mul(all) <= limits.overlapping_invocations;
    if options.force || all <= MOST_IDLE * own || has_room {
        Ok(())
    } else {
        Err(RewriteReason::Idle { own, all })
    }
}
