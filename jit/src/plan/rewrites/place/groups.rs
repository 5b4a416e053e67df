//! Work-groups of a member that is not free, where free members have a grid of items: each takes the same number of consecutive ones.
//!
//! A kernel with barriers and a work-group for each row keeps its work-groups, and so may one that is free. Items of a free member are numbered by their global ids, as in
//! [`blocks`](super::blocks), and a work-group goes through those of its rows in a loop. How many these are follows from a buffer that both go
//! through: the bytes from one work-group to the next, over those from one value of the last global id to the next. Without such a buffer
//! members have items in proportion to another one's, or every work-group the same part.
//!
//! # Requires
//! - a group, and a submission that does not join it in another way; one of them is not free, or goes by rows
//!
//! # Guarantees
//! - as for every placement, each item is executed exactly once ([`exactly_once`]) or writes nothing
//!
//! # Refuses
//! - members that are not free and differ in their local size, or whose local size is no line
//! - items that are no whole multiple of a work-group's; placements that would be slower

use std::borrow::Cow;

use super::blocks::{ids, is_wanted};
use super::{grow, place};
use crate::plan::grouping::group::{Group, have_in_common};
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::Submission;
use crate::plan::output::report::Places;
use crate::plan::rewrites::exactly_once::exactly_once;
use crate::plan::rewrites::idle;
use crate::plan::rewrites::proposal::{Known, Placed, Proposal};
use crate::reason::RewriteReason;
use crate::rewrite;

/// Tries to let the next submission join by placing free members on the work-groups of those that are not; `Err(None)` if there is nothing to
/// try. As [`across`](super::across).
pub(crate) fn on_groups(
    asked: &[Submission],
    problem: Problem<'_>,
    group: &mut Group,
    known: Known<'_>,
) -> Result<Placed, Option<RewriteReason>> {
    if !is_wanted(problem, group) {
        return Err(None);
    }
    let list = problem.list;
    let members = group.start..group.end() + 1;
    let is_idle = |at: usize| idle::is_idle(&list[at]);
    let is_tied = |at: usize| !is_idle(at) && rewrite::why_not_free(&list[at].kernel).is_some();
    let size = |at: usize| list[at].kernel.interface.local_size;
    let tied: Vec<usize> = members.clone().filter(|&at| is_tied(at)).collect();
    // The last of those with the most work-groups; without any, the last one that goes by rows, if others do not.
    let by_rows = || members.clone().rev().find(|&at| !is_idle(at) && goes_by_rows(problem, at));
    let partner =
        tied.iter().copied().max_by_key(|&at| count(list[at].groups)).or_else(by_rows).ok_or(None)?;
    let local = size(partner);
    if tied.iter().any(|&at| size(at) != local) || rewrite::line_of(local).is_none() {
        return Err(None);
    }
    let groups = count(list[partner].groups);
    let was_placed = |at: usize| known.rewrites.iter().any(|one| one.submission == at);
    // What has another local size alone; whatever has not as many work-groups as well; and what was placed before, too.
    let (mut why, mut before) = (None, Vec::new());
    for level in 0..3 {
        let fits = |at: usize| {
            size(at) == local
                && (level == 0 || count(list[at].groups) == groups)
                && (level < 2 || !was_placed(at))
        };
        let stays = |at: usize| at == partner || is_tied(at) || is_idle(at) || fits(at);
        let moved: Vec<usize> = members.clone().filter(|&at| !stays(at)).collect();
        if moved.is_empty() || moved == before {
            continue;
        }
        let work = Work { problem, members: members.clone(), partner, moved: &moved };
        match work.place(asked, group, known) {
            Ok(placed) => return Ok(placed),
            Err(reason) => why = why.or(reason),
        }
        before = moved;
    }
    Err(why)
}

/// Whether a submission's work-groups have rows of elements that are no items of its own.
fn goes_by_rows(problem: Problem<'_>, at: usize) -> bool {
    let one = &problem.list[at];
    let Some(view) = View::of(problem.list, problem.uses, at).filter(|view| !view.is_flat()) else {
        return false;
    };
    let is_long = |places: Places| matches!(places, Places::Rows { length } if length > 1);
    view.forms.iter().any(|form| view.places(form, form.size, one).is_some_and(is_long))
}

fn count(groups: [u32; 3]) -> u64 {
    groups.iter().map(|&n| u64::from(n)).product()
}

/// Free members that are to do their items in the work-groups of others.
struct Work<'a> {
    problem: Problem<'a>,
    members: std::ops::Range<usize>,
    /// One of those that keep their work-groups.
    partner: usize,
    moved: &'a [usize],
}

/// A free member's items by their global ids, and how many of them a work-group may have, the likeliest number first.
struct Items {
    at: usize,
    counts: [u32; 3],
    all: u64,
    lengths: Vec<u64>,
    /// The number is known from no buffer.
    is_guess: bool,
}

impl Work<'_> {
    /// Places the members that are to move.
    fn place(
        &self,
        asked: &[Submission],
        group: &mut Group,
        known: Known<'_>,
    ) -> Result<Placed, Option<RewriteReason>> {
        let Self { problem: Problem { list, .. }, partner, .. } = *self;
        let (local, most) = (list[partner].kernel.interface.local_size, count(list[partner].groups));
        // Members that were placed before are placed again.
        let (mut fresh, mut undone) = (Cow::Borrowed(list), Vec::new());
        let stood = known.rewrites.iter().map(|one| one.submission).filter(|at| self.moved.contains(at));
        for at in stood {
            if known.differs(at) {
                return Err(None);
            }
            fresh.to_mut()[at] = asked[at].clone();
            undone.push(at);
        }
        // Placements are proven under either policy.
        let proven = self.problem.proven();
        let problem = self.problem.with_options(&proven);
        let mut placed = fresh.to_vec();
        let (mut rewrites, mut idle) = (Vec::new(), Vec::new());
        for at in self.members.clone() {
            if idle::is_idle(&list[at]) {
                placed[at] = idle::idle(&list[at].kernel, [most as u32, 1, 1], local).ok_or(None)?;
                idle.push(at);
            }
        }
        let last = self.members.end - 1;
        for Items { at, counts, all, lengths, is_guess } in self.items(&fresh)? {
            let proposal = |length: &u64| {
                let groups = u32::try_from(all.div_ceil(*length)).ok().filter(|&n| u64::from(n) <= most)?;
                let places = Places::Blocks { length: u32::try_from(*length).ok()?, counts };
                Some(Proposal { partner, places, groups: [groups, 1, 1], local, by_groups: false })
            };
            let mut proposals = lengths.iter().filter_map(proposal);
            let first = proposals.next().ok_or(None)?;
            let fits = |one: &Proposal| exactly_once(&fresh, problem.uses, at, one).is_ok();
            let proposal = [first].into_iter().chain(proposals).find(fits).unwrap_or(first);
            let placed_at = place(problem.with_list(&fresh), (at, last), &proposal);
            // That other work-groups than the partner's do not fit, or a guess, is not worth a word.
            let is_likely = !is_guess && u64::from(proposal.groups[0]) == most;
            let (submission, report) = placed_at.map_err(|why| Some(why).filter(|_| is_likely))?;
            placed[at] = submission;
            rewrites.push(report);
        }
        match grow(problem.with_list(&placed), self.members.clone()) {
            Ok(grown) => *group = grown,
            Err(rejection) => return Err(Some(RewriteReason::Rejected(Box::new(rejection.reason)))),
        }
        Ok(Placed::of(&fresh, placed, rewrites, &[undone, idle].concat()))
    }

    /// The items of the members that are to move, with the numbers of them that a work-group may have.
    fn items(&self, fresh: &[Submission]) -> Result<Vec<Items>, Option<RewriteReason>> {
        let Problem { uses, .. } = self.problem;
        let most = count(fresh[self.partner].groups);
        let mut found = Vec::new();
        for &at in self.moved {
            let counts = ids(fresh, uses, at).ok_or(None)?;
            found.push(Items { at, counts, all: count(counts), lengths: Vec::new(), is_guess: false });
        }
        let stays = |at: &usize| !self.moved.contains(at);
        for other in self.members.clone().filter(stays) {
            let Some(theirs) = View::of(fresh, uses, other) else { continue };
            for one in found.iter_mut().filter(|one| have_in_common(&fresh[one.at], &fresh[other])) {
                let Some(own) = View::of(fresh, uses, one.at) else { continue };
                let lengths = shared(fresh, (one, &own), (other, &theirs));
                one.lengths.extend(lengths);
            }
        }
        let known: Vec<(u64, u64)> =
            found.iter().filter_map(|one| Some((one.all, *one.lengths.first()?))).collect();
        for one in &mut found {
            let in_proportion = known.iter().filter_map(|&(all, length)| {
                let items = u128::from(length) * u128::from(one.all);
                let length = items / u128::from(all);
                u64::try_from(length).ok().filter(|_| length * u128::from(all) == items)
            });
            one.lengths.extend(in_proportion.collect::<Vec<_>>());
            one.is_guess = one.lengths.is_empty();
            one.lengths.extend((one.all % most == 0).then_some(one.all / most));
            one.lengths.retain(|&length| length > 0);
        }
        Ok(found)
    }
}

/// How many items of a free member the work-groups of another one have, by the buffers that both go through.
fn shared(
    list: &[Submission],
    (&Items { at, counts, .. }, own): (&Items, &View),
    (other, theirs): (usize, &View),
) -> Vec<u64> {
    let Some(last) = (0..3).rev().find(|&d| counts[d] > 1) else { return Vec::new() };
    let below = counts[..last].iter().map(|&n| i128::from(n)).product::<i128>();
    let accesses = |position: usize, view: &View| {
        let accesses = analysis_of(&list[position]).map_or(&[][..], |analysis| &analysis.accesses);
        let buffers = accesses.iter().map(|access| list[position].args[access.binding].buffer);
        buffers.zip(view.forms.clone()).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    let rows: Vec<_> = accesses(other, theirs)
        .into_iter()
        .filter_map(|(buffer, form)| Some((buffer, theirs.step(&form, theirs.group_digits())?)))
        .collect();
    for (buffer, form) in accesses(at, own) {
        let Some(each) = own.step_of_id(&form, last).filter(|&each| each > 0) else { continue };
        for &(_, row) in rows.iter().filter(|(other, row)| *other == buffer && *row > 0) {
            let items = below * row;
            let length = u64::try_from(items / each).ok().filter(|_| items % each == 0);
            found.extend(length.filter(|length| !found.contains(length)));
        }
    }
    found
}
