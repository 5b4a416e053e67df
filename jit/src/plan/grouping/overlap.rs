//! Groups that fall into parts which a device would run at the same time as dispatches of their own.
//!
//! A fused kernel does the work of its members one after the other. Where nothing is handed on across a boundary, two dispatches need no
//! barrier between them, and a device that neither of them fills runs both at once: fused they take the sum of their times, apart the
//! longer one. That counts where each side takes long by itself, as the matrix products of one layer do, and not for kernels of a few
//! instructions, whose launch is most of what they take.
//!
//! Kernels that keep their work-groups take the longer time in one dispatch, too: each part has work-groups of its own there ([`beside`]).
//!
//! # Requires
//! - a group that nothing joins any more
//!
//! # Guarantees
//! - no data passes the boundary: no member before it touches what a member behind it writes, or the reverse
//! - members of parts are compared again, with the work-groups that they have then
//!
//! # Leaves alone
//! - parts that another schedule may gain from: those without barriers, and dispatches of more work-groups than are left of a coarsened one

use std::ops::Range;

use crate::plan::grouping::group::Group;
use crate::plan::grouping::parts::Parts;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::FuseOptions;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::Submission;

/// A member that evaluates its loop conditions no more often than this, one time more than each loop iterates, takes no longer than the launch
/// of a dispatch.
const SHORT_LOOP: u128 = 8;

/// The member at which a group is better ended, if there is one.
pub(in crate::plan) fn boundary(
    list: &[Submission],
    group: &Group,
    options: &FuseOptions,
    limits: &Limits,
) -> Option<usize> {
    if options.force || !is_small(list, group, limits) {
        return None;
    }
    let is_long = |members: Range<usize>| members.into_iter().any(|at| takes_long(list, group, at));
    boundaries(group).find(|&boundary| is_long(group.start..boundary) && is_long(boundary..group.end()))
}

/// The same members, with work-groups of their own for each part that takes long, if there are several.
pub(in crate::plan) fn beside(problem: Problem<'_>, group: &Group) -> Option<Group> {
    let Problem { list, options, limits, .. } = problem;
    if options.force || !group.trusted.is_empty() || !is_small(list, group, limits) {
        return None;
    }
    let mut begins = vec![group.start];
    begins.extend(boundaries(group));
    let ends = begins.iter().skip(1).copied().chain([group.end()]);
    let parts: Vec<Range<usize>> = begins.iter().zip(ends).map(|(&begin, end)| begin..end).collect();
    let is_long = |part: &Range<usize>| part.clone().any(|at| takes_long(list, group, at));
    let long: Vec<Range<usize>> = parts.into_iter().filter(is_long).collect();
    let waits = |part: &Range<usize>| list[part.clone()].iter().any(|one| one.kernel.interface.has_barrier);
    if long.len() < 2 || !long.iter().all(waits) {
        return None;
    }
    // Those that take no time go with what is before them.
    let begins: Vec<usize> =
        [group.start].into_iter().chain(long[1..].iter().map(|part| part.start)).collect();
    let (parts, all) = Parts::of(&list[group.start..group.end()], group.start, &begins)?;
    let (threads, blocks) = (limits.thread_coarsening, limits.block_coarsening);
    let is_coarsened =
        threads.invocations > 0 && all >= threads.least || blocks.work_groups > 1 && all >= blocks.least;
    if is_coarsened {
        return None;
    }
    group.apart(problem, parts, all)
}

/// Members that begin a part which nothing is handed to by those before.
fn boundaries(group: &Group) -> impl Iterator<Item = usize> + '_ {
    let meet = |boundary: usize| group.demands.iter().any(|d| d.first < boundary && boundary <= d.second);
    (group.start..group.end()).skip(1).filter(move |&boundary| !meet(boundary))
}

/// Whether a member takes longer than the launch of a dispatch.
fn takes_long(list: &[Submission], group: &Group, at: usize) -> bool {
    let loops = group.loop_tests(at).is_none_or(|tests| tests > SHORT_LOOP);
    loops || list[at].kernel.interface.has_barrier
}

/// Whether no member fills the device. Where members are small depends on the device, and so does whether it runs dispatches at once.
fn is_small(list: &[Submission], group: &Group, limits: &Limits) -> bool {
    let all = list[group.start..group.end()].iter().map(Submission::invocations);
    all.max().is_some_and(|most| most < limits.overlapping_invocations)
}
