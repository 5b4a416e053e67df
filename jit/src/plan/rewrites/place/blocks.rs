//! Whole rows in a work-group, where an invocation of some members processes a row in a loop, and an invocation of others one element.
//!
//! Items are numbered by their global ids, `x` first, which is the order in which a grid of several dimensions usually walks memory. If
//! one member has `n` items and another `n w`, an item of the first is taken for a row of `w` items of the second. A work-group then
//! processes several whole rows of every member: one invocation a row where a row is one item, and all invocations where it is many.
//!
//! # Requires
//! - a group, and a submission that does not join it in another way
//!
//! # Guarantees
//! - as for every placement, each item is executed exactly once ([`exactly_once`](crate::plan::rewrites::exactly_once)) or writes nothing
//!
//! # Refuses
//! - members that are not data-parallel (see [`groups`](super::groups)), or that were placed and changed otherwise
//! - submissions without a buffer in common with the group; item counts that are no multiples of the smallest; placements that would be slower

use std::borrow::Cow;

use super::{grow, place};
use crate::analysis::access::AccessKind;
use crate::analysis::affine::{Affine, Atom, AtomId};
use crate::plan::grouping::group::{Group, have_in_common};
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::Limits;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;
use crate::plan::output::report::Places;
use crate::plan::rewrites::idle;
use crate::plan::rewrites::proposal::{Known, Placed, Proposal};
use crate::reason::RewriteReason;
use crate::rewrite;

/// Work-groups that fill a device. With more rows than this, a work-group takes several.
const FILLING_GROUPS: u64 = 512;
/// Longest row, in iterations of its work-group, for which the members' own work-group size is kept.
const SHORT_ROUNDS: u64 = 8;
/// Work-group size for longer rows.
const WIDE: u32 = 256;

/// Whether the next submission may be placed with the group. Without a buffer in common the members would only share a dispatch.
pub(super) fn is_wanted(problem: Problem<'_>, group: &Group) -> bool {
    let (list, next) = (problem.list, group.end());
    !problem.options.no_rewrites && (group.start..next).any(|at| have_in_common(&list[at], &list[next]))
}

/// Tries to let the next submission join by placing all members on whole rows; `Err(None)` if they have none. As
/// [`across`](super::across).
pub(crate) fn in_blocks(
    asked: &[Submission],
    problem: Problem<'_>,
    group: &mut Group,
    known: Known<'_>,
) -> Result<Placed, Option<RewriteReason>> {
    if !is_wanted(problem, group) {
        return Err(None);
    }
    let Problem { list, uses, limits, .. } = problem;
    let members = group.start..group.end() + 1;
    // Members that were placed before are placed again.
    let mut fresh = Cow::Borrowed(list);
    let mut undone = Vec::new();
    for at in known.rewrites.iter().map(|one| one.submission).filter(|at| members.contains(at)) {
        if known.differs(at) {
            return Err(None);
        }
        fresh.to_mut()[at] = asked[at].clone();
        undone.push(at);
    }
    let (idle, working): (Vec<usize>, Vec<usize>) =
        members.clone().partition(|&at| idle::is_idle(&fresh[at]));
    let mut boxes = Vec::new();
    for at in working {
        boxes.push((at, ids(&fresh, uses, at).ok_or(None)?));
    }
    let blocks = Blocks::of(&fresh, &boxes, limits).ok_or(None)?;
    // Placements are proven under either policy.
    let proven = problem.proven();
    let problem = problem.with_options(&proven);
    let mut placed = fresh.to_vec();
    let mut rewrites = Vec::new();
    for &at in &idle {
        let shaped = idle::idle(&fresh[at].kernel, blocks.groups(), blocks.local());
        placed[at] = shaped.ok_or(None)?;
    }
    for &(at, counts) in &boxes {
        let proposal = blocks.proposal(at, counts);
        let (submission, report) = place(problem.with_list(&fresh), (at, members.end - 1), &proposal)?;
        placed[at] = submission;
        rewrites.push(report);
    }
    match grow(problem.with_list(&placed), members) {
        Ok(grown) => *group = grown,
        Err(rejection) => return Err(Some(RewriteReason::Rejected(Box::new(rejection.reason)))),
    }
    Ok(Placed::of(&fresh, placed, rewrites, &[undone, idle].concat()))
}

/// For each dimension, the number of global ids, counted from 0, that may write anything.
pub(super) fn ids(list: &[Submission], uses: &Uses, at: usize) -> Option<[u32; 3]> {
    let one = &list[at];
    if one.base != [0; 3] || rewrite::why_not_free(&one.kernel).is_some() {
        return None;
    }
    let accesses = &analysis_of(one).ok()?.accesses;
    let view = View::of(list, uses, at)?;
    let forms = accesses.iter().zip(&view.forms);
    let writes = forms.filter(|(access, form)| access.kind != AccessKind::Read && !form.never);
    let mut counts = [0; 3];
    for (_, form) in writes {
        for (d, count) in counts.iter_mut().enumerate() {
            let all = one.groups[d].checked_mul(one.kernel.interface.local_size[d])?;
            let limits = form.conditions.iter().filter_map(|condition| below(&view, condition, d));
            let least = limits.min().map_or(all, |limit| all.min(u32::try_from(limit.max(0)).unwrap_or(all)));
            *count =
                if mutant!(OtherIdsAreIdle) && *count > 0 { least.min(*count) } else { least.max(*count) };
        }
    }
    (!counts.contains(&0)).then_some(counts)
}

/// The first global id of a dimension for which a form is positive, whatever the other ids are.
fn below(view: &View, condition: &Affine, dim: usize) -> Option<i128> {
    let d = dim as u8;
    let of = |atom: Atom| view.atoms.find(&atom).map_or(0, |id| condition.coefficient(id));
    let (group, local) = (of(Atom::Group(d)), of(Atom::Local(d)));
    let (groups, size) = (view.shape.groups[dim], i128::from(view.shape.local[dim]));
    let each = match (groups, size) {
        (_, 1) => group,
        (1, _) => local,
        _ if group == local * size => local,
        _ => return None,
    };
    let of_others = |&&(id, _): &&(AtomId, i128)| match view.atoms.get(id) {
        Atom::Group(n) | Atom::Local(n) => *n != d,
        _ => true,
    };
    let others = condition.terms.iter().filter(of_others);
    let least = others.map(|&(id, c)| c.min(0) * view.atoms.max(id)).sum::<i128>();
    (each > 0).then(|| (-condition.constant - least).div_euclid(each) + 1)
}

/// Work-groups of whole rows.
struct Blocks {
    /// The member with an item for each row, and the one with most items.
    rows: usize,
    most: usize,
    /// Rows in all, and of a work-group.
    count: u64,
    each: u64,
    size: u32,
}

impl Blocks {
    fn of(list: &[Submission], boxes: &[(usize, [u32; 3])], limits: &Limits) -> Option<Self> {
        let items = |counts: [u32; 3]| counts.iter().map(|&n| u64::from(n)).product::<u64>();
        let &(rows, fewest) = boxes.iter().min_by_key(|(_, counts)| items(*counts))?;
        let &(most, longest) = boxes.iter().max_by_key(|(_, counts)| items(*counts))?;
        let (count, elements) = (items(fewest), items(longest));
        if boxes.iter().any(|&(_, counts)| items(counts) % count != 0) {
            return None;
        }
        let length = elements / count;
        let largest = limits.max_work_group_size[0].min(limits.max_work_group_invocations);
        let size = list[most].kernel.interface.local_size.iter().copied().fold(1, u32::saturating_mul);
        let size = if length > SHORT_ROUNDS * u64::from(size) { size.max(WIDE.min(largest)) } else { size };
        if size > largest {
            return None;
        }
        // Enough work-groups to fill the device, and enough rows for every invocation to have an element.
        let wanted = (count / FILLING_GROUPS).max(u64::from(size) / length).clamp(1, u64::from(size));
        // The last work-group may reach past the last row, as long as the dispatch has invocations there.
        let fits = |each: &u64| {
            boxes.iter().all(|&(at, counts)| {
                let items = items(counts);
                let last = (0..3).rev().find(|&d| counts[d] > 1).unwrap_or(0);
                let ids = list[at].groups[last] * list[at].kernel.interface.local_size[last];
                let room = items / u64::from(counts[last]) * u64::from(ids);
                count.div_ceil(*each) * each * (items / count) <= room
            })
        };
        let each = (1..=wanted.min(count)).rev().find(fits)?;
        let groups = count.div_ceil(each);
        let fits = groups <= u64::from(limits.max_groups[0]) && elements < 1 << 31;
        fits.then_some(Self { rows, most, count, each, size })
    }

    fn groups(&self) -> [u32; 3] {
        [self.count.div_ceil(self.each) as u32, 1, 1]
    }

    fn local(&self) -> [u32; 3] {
        [self.size, 1, 1]
    }

    /// The placement of a member with these counts of global ids.
    fn proposal(&self, at: usize, counts: [u32; 3]) -> Proposal {
        let items = counts.iter().map(|&n| u64::from(n)).product::<u64>();
        let length = (items / self.count * self.each) as u32;
        let partner = if at == self.rows { self.most } else { self.rows };
        let places = Places::Blocks { length, counts };
        Proposal { partner, places, groups: self.groups(), local: self.local(), by_groups: false }
    }
}
