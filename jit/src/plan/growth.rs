//! Grows a group as far as the device binds what is left in memory.
//!
//! What stays inside of a dispatch needs no binding, and what that is, is only known of a finished group. So a group grows as if everything
//! stayed inside that is to and that nothing before it uses; if it then binds more than the device does, it is shortened.
//!
//! # Guarantees
//! - a group that is grown here binds what the device binds, with what the planner will keep inside of it

use std::ops::Range;

use crate::Reason;
use crate::plan::dispatch::assemble;
use crate::plan::grouping::budget::Budget;
use crate::plan::grouping::group::{Group, Rejection};
use crate::plan::grouping::overlap;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{BufferId, Promote};
use crate::plan::input::wish::wish;
use crate::plan::output::report::BufferReport;

/// How many ends are tried of a group that binds too much.
const MOST_ENDS: usize = 8;

/// The longest group from `start`, and what ended it. `known` are the buffers that earlier dispatches have said something of.
pub(super) fn grow(
    problem: Problem<'_>,
    start: usize,
    known: &[BufferReport],
) -> (Option<Group>, Option<Rejection>) {
    match Group::new(problem, start) {
        Ok(mut group) => {
            let rejection = grow_on(problem, &mut group, known);
            (Some(group), rejection)
        }
        Err(reason) => (None, Some(reason.into())),
    }
}

/// A group of exactly these submissions, if they are one.
pub(super) fn grow_to(problem: Problem<'_>, members: Range<usize>, known: &[BufferReport]) -> Option<Group> {
    let mut group = exactly(problem, members)?;
    is_bound(problem, &mut group, known).ok()?;
    Some(group)
}

/// A group whose parts have work-groups of their own ([`overlap::beside`]), if as much stays inside of its dispatch.
pub(super) fn beside(problem: Problem<'_>, group: &mut Group, known: &[BufferReport]) -> Option<Group> {
    let mut own = overlap::beside(problem, group)?;
    let is_as_much =
        assemble::promoted(problem, group, known) == assemble::promoted(problem, &mut own, known);
    is_as_much.then_some(own)
}

/// Takes in all that joins a group; what ends it.
pub(super) fn grow_on(problem: Problem<'_>, group: &mut Group, known: &[BufferReport]) -> Option<Rejection> {
    let Problem { list, options, limits, .. } = problem;
    let start = group.start;
    let mut budget = Budget::of(&list[start..group.end()]);
    let mut rejection = None;
    while group.end() < list.len() {
        let next = &list[group.end()];
        let hoped = |buffer| is_wanted_inside(problem, start..list.len(), buffer);
        if let Err(reason) = budget.add_unless(next, options.float, limits, hoped) {
            rejection = Some(reason.into());
            break;
        }
        if let Err(why) = group.join(problem) {
            rejection = Some(why);
            break;
        }
    }
    match shorten(problem, group, known) {
        Ok(()) => rejection,
        Err(reason) => Some(reason.into()),
    }
}

/// Takes the last members out of a group that binds too much, as few as that takes; says what it would have bound.
fn shorten(problem: Problem<'_>, group: &mut Group, known: &[BufferReport]) -> Result<(), Reason> {
    let Problem { list, limits, .. } = problem;
    let Err(mut reason) = is_bound(problem, group, known) else { return Ok(()) };
    let start = group.start;
    let may_be_bound = |end: &usize| {
        let hoped = |buffer| is_wanted_inside(problem, start..*end, buffer);
        Budget::of(&list[start..*end]).bindings(limits, hoped).is_ok()
    };
    let ends = (start + 1..group.end()).rev().filter(may_be_bound).take(MOST_ENDS);
    for end in ends {
        let Some(mut shorter) = exactly(problem, start..end) else { continue };
        match is_bound(problem, &mut shorter, known) {
            Ok(()) => {
                *group = shorter;
                return Err(reason);
            }
            Err(more) => reason = more,
        }
    }
    // As many as can be bound if nothing stays inside; one can by itself.
    let fits = |end: &usize| Budget::of(&list[start..*end]).bindings(limits, |_| false).is_ok();
    let end = (start + 1..group.end()).rev().find(fits).unwrap_or(start + 1);
    if let Some(shorter) = exactly(problem, start..end) {
        *group = shorter;
    }
    Err(reason)
}

/// Whether the device binds what is left in memory of a group.
fn is_bound(problem: Problem<'_>, group: &mut Group, known: &[BufferReport]) -> Result<(), Reason> {
    let Problem { list, limits, .. } = problem;
    let members = group.start..group.end();
    let budget = Budget::of(&list[members.clone()]);
    if members.len() == 1 || budget.bindings(limits, |_| false).is_ok() || mutant!(IgnoreLimits) {
        return Ok(());
    }
    if mutant!(WishesAreGranted) {
        return budget.bindings(limits, |buffer| is_wanted_inside(problem, members.clone(), buffer));
    }
    let inside = assemble::promoted(problem, group, known);
    budget.bindings(limits, |buffer| inside.contains(&buffer))
}

/// Whether a buffer is to stay inside, and nothing but these submissions uses it.
fn is_wanted_inside(problem: Problem<'_>, members: Range<usize>, buffer: BufferId) -> bool {
    let Problem { list, uses, .. } = problem;
    uses.of_buffer(buffer).iter().all(|(submission, _)| members.contains(submission))
        && !matches!(wish(list, uses, buffer), Ok(Promote::None) | Err(_))
}

fn exactly(problem: Problem<'_>, members: Range<usize>) -> Option<Group> {
    let mut group = Group::new(problem, members.start).ok()?;
    while group.end() < members.end {
        group.join(problem).ok()?;
    }
    Some(group)
}
