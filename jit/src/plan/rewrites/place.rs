//! Lets free kernels and kernels of rows or tiles join one group: the free ones take the items of a partner.
//!
//! Where the next submission does not join a group, a kernel on one side of the boundary may be free and process a shared buffer by element
//! number, while one on the other side processes it by rows or tiles. (A kernel that is not free, and goes by element number
//! with another work-group size, also counts as one by rows: its work-groups are the rows.) Then the free kernels of the group and of the
//! next submission are placed on those rows or tiles ([`rewrite`]), and the group is grown again. The result is an
//! ordinary list, to which theorems 1 to 3 apply as to any other, so that a bad proposal only costs a missed fusion.
//!
//! # Requires
//! - a group, and a submission that does not join it
//!
//! # Guarantees
//! - each item of a placed submission is done exactly once ([`exactly_once`]), or has nothing to do
//! - a placed submission stands in a group with its partner
//!
//! # Refuses
//! - placements that would not pay ([`pays`]); boundaries without a buffer that both sides process element by element

mod blocks;
mod groups;
mod lines;

use std::borrow::Cow;
use std::cell::OnceCell;

use smallvec::SmallVec;

use crate::analysis::affine::{Atom, AtomId, Bounds};
use crate::analysis::evaluate::AccessForm;
use crate::plan::grouping::budget::Budget;
use crate::plan::grouping::group::{Group, Rejection};
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{BufferId, Submission};
use crate::plan::output::again::Counted;
use crate::plan::output::report::{Places, RewriteReport};
use crate::plan::rewrites::exactly_once::exactly_once;
use crate::plan::rewrites::pays::pays;
use crate::plan::rewrites::proposal::{Known, Partners, Placed, Proposal};
use crate::plan::rewrites::{idle, refused, rounds};
use crate::reason::RewriteReason;
use crate::rewrite::{self, Digits, Numbering, Order, Spread};

pub(crate) use blocks::in_blocks;
pub(crate) use groups::on_groups;

/// Partners that are tried at one kernel boundary.
const MOST_PARTNERS: usize = 3;

/// How a kernel goes through a buffer: the bytes from one step to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// Bytes from item to item.
    Items(i128),
    /// Bytes from work-group to work-group.
    Groups(i128),
    /// Bytes from row to row of this many items, of a kernel that has other elements in a row than items.
    Rows(i128, u32),
}

/// Tries to let the next submission join by placing what is free; `Err(None)` if there is nothing to try. The group is left as it was, or is the
/// one that holds with what was placed. `asked` is the list as it was submitted, and `known` what was changed since.
pub(crate) fn across(
    asked: &[Submission],
    problem: Problem<'_>,
    group: &mut Group,
    known: Known<'_>,
) -> Result<Placed, Option<RewriteReason>> {
    let Problem { list, uses, options, .. } = problem;
    let before = Before { rewrites: known.rewrites, undone: &[], rounds: &[] };
    let first = once(problem, group, before);
    let Err(why) = first else { return first };
    if options.no_rewrites {
        return Err(why);
    }
    // What was placed for the sake of others in the group may have to go by the next one.
    let members = group.start..group.end();
    let placed = known.rewrites.iter().map(|one| one.submission);
    let undone: Vec<usize> = placed.filter(|at| members.contains(at) && !known.differs(*at)).collect();
    let mut fresh = Cow::Borrowed(list);
    if !undone.is_empty() {
        undone.iter().for_each(|&at| fresh.to_mut()[at] = asked[at].clone());
        let before = Before { undone: &undone, ..before };
        if let Ok(placed) = once(problem.with_list(&fresh), group, before) {
            return Ok(placed);
        }
    }
    // A kernel whose invocations do several elements may have each of them as an item.
    let mut by_rounds: Vec<(Submission, Counted)> = Vec::new();
    for at in group.start..group.end() + 1 {
        // What is quick to say comes first: most kernels have no loop.
        if !rounds::may_be(&fresh[at]) {
            continue;
        }
        let stands = known.rewrites.iter().any(|one| one.submission == at) && !undone.contains(&at);
        let goes = || View::of(&fresh, uses, at).is_some_and(|view| view.stores_flat(&fresh[at]));
        if !stands && fresh[at].base == [0; 3] && !goes() {
            by_rounds.extend(rounds::flat(&fresh[at], uses, at));
        }
    }
    // All of them, or one on the rows or the tiles of another.
    let several = by_rounds.len() > 1;
    let each = by_rounds.chunks(1).rev().take(if several { MOST_PARTNERS } else { 0 });
    let all = (!by_rounds.is_empty()).then_some(&by_rounds[..]);
    for some in all.into_iter().chain(each) {
        let mut list = fresh.to_vec();
        let mut rounds = Vec::new();
        for (one, by) in some {
            list[by.at] = one.clone();
            rounds.push(*by);
        }
        let before = Before { undone: &undone, rounds: &rounds, ..before };
        let Ok(placed) = once(problem.with_list(&list), group, before) else { continue };
        #[cfg(feature = "certify")]
        let placed = {
            let kept = rounds.iter().map(|by| (by.at, fresh[by.at].clone()));
            let mut placed = placed;
            placed.before.splice(0..0, kept);
            placed
        };
        return Ok(placed);
    }
    Err(why)
}

/// What became of a list before something is placed.
#[derive(Clone, Copy)]
struct Before<'a> {
    rewrites: &'a [RewriteReport],
    /// What was placed, and is as it was submitted again.
    undone: &'a [usize],
    /// Submissions with the rounds of their loops as items. They have to be placed.
    rounds: &'a [Counted],
}

/// The same where some of what was placed is as it was submitted again.
fn once(
    problem: Problem<'_>,
    group: &mut Group,
    Before { rewrites: known, undone, rounds }: Before<'_>,
) -> Result<Placed, Option<RewriteReason>> {
    let Problem { list, uses, options, .. } = problem;
    let next = group.end();
    if options.no_rewrites {
        return Err(None);
    }
    let start = group.start;
    let members = start..next + 1;
    // Lines of elements have no rows or tiles.
    let is_line = |one: &Submission| {
        let interface = &one.kernel.interface;
        interface.item_only && one.groups[1..] == [1, 1] && interface.local_size[1..] == [1, 1]
    };
    // Of these, one may go through a buffer from another element on than the other.
    let is_shifted = list[members.clone()].iter().all(is_line);
    // What is placed is proven, also where other things are trusted.
    let proven = problem.proven();
    let problem = problem.with_options(&proven);
    let is_placed =
        |position: usize| !undone.contains(&position) && known.iter().any(|one| one.submission == position);
    let is_free = |position: usize| {
        list[position].base == [0; 3]
            && !is_placed(position)
            && rewrite::why_not_free(&list[position].kernel).is_none()
            && analysis_of(&list[position]).is_ok()
    };
    // Worth a word where a kernel that goes by elements is not free.
    let why_none = || {
        let tied = rewrite::why_not_free(&list[next].kernel).filter(|_| !is_placed(next))?;
        let is_flat = View::of(list, uses, next).is_some_and(|view| view.is_flat());
        is_flat.then(|| refused::not_free(list, next, tied))
    };
    let free: Vec<usize> = members.clone().filter(|&at| is_free(at)).collect();
    if free.is_empty() {
        return Err(why_none());
    }
    let views: Vec<OnceCell<Option<View>>> = members.clone().map(|_| OnceCell::new()).collect();
    let view = |at: usize| views[at - start].get_or_init(|| View::of(list, uses, at)).as_ref();
    let goes: Vec<(usize, bool)> = free
        .into_iter()
        .filter_map(|at| {
            let view = view(at)?;
            let flat = view.is_flat();
            (flat || view.forms.iter().any(|form| view.pace(form).is_some())).then_some((at, flat))
        })
        .collect();
    if goes.is_empty() {
        return Err(why_none());
    }
    let is_idle = |at: usize| idle::is_idle(&list[at]);
    let idle: Vec<usize> = members.clone().filter(|&at| is_idle(at)).collect();
    let mut why = None;
    let mut tried: SmallVec<[Proposal; 2]> = SmallVec::new();
    let proposed = [Partners::Shared, Partners::Any].into_iter().flat_map(|which| {
        let found = match is_shifted {
            true => lines::shifted(list, &members, &goes, &view, which),
            false => proposals(list, &members, &goes, &view, &is_free, which),
        };
        found.into_iter().take(MOST_PARTNERS).map(move |proposal| (which, proposal))
    });
    for (which, proposal) in proposed {
        if tried.iter().any(|other| other.is_like(&proposal)) {
            continue;
        }
        tried.push(proposal);
        let mut placed = list.to_vec();
        let mut rewrites = Vec::new();
        // A producer that is recomputed elsewhere has nothing left to do, and fits any shape.
        for &at in &idle {
            let shaped = idle::idle(&list[at].kernel, proposal.groups, proposal.local);
            placed[at] = shaped.unwrap_or_else(|| list[at].clone());
        }
        for &(at, flat) in goes.iter().filter(|&&(at, _)| at != proposal.partner) {
            let placed_at = match (proposal.places, flat) {
                (Places::Line { .. }, _) => proposal.at_start(list, at, &view),
                (_, true) => Some(proposal),
                (_, false) => {
                    let by_rows = view(at).and_then(|view| proposal.by_rows_of(view));
                    by_rows.or_else(|| proposal.by_groups_of(&list[at]))
                }
            };
            let Some(proposal) = placed_at.map(|one| one.as_far_as_items_go(&list[at])) else { continue };
            match place(problem, (at, next), &proposal) {
                Ok((submission, report)) => {
                    placed[at] = submission;
                    rewrites.push(report);
                }
                // That others are no partners of it is not worth a word, nor that members are not placed on each other: they are together.
                Err(reason) if which == Partners::Shared && [at, proposal.partner].contains(&next) => {
                    why = Some(reason);
                }
                Err(_) => {}
            }
        }
        for by in rounds {
            let found = rewrites.iter_mut().find(|one| one.submission == by.at);
            found.into_iter().for_each(|one: &mut RewriteReport| {
                (one.rounds, one.beside) = (by.count, by.beside);
            });
        }
        if rewrites.is_empty() || rewrites.iter().filter(|one| one.rounds > 1).count() < rounds.len() {
            continue;
        }
        // Nothing else of a group changes where the next one alone is placed.
        let is_alone = matches!(&rewrites[..], [one] if one.submission == next);
        let is_alone = is_alone && undone.is_empty() && rounds.len() < 2 && group.trusted.is_empty();
        let grown = match is_alone {
            true => join(problem.with_list(&placed), group),
            false => grow(problem.with_list(&placed), members.clone()).map(|grown| *group = grown),
        };
        match grown {
            Ok(()) => return Ok(Placed::of(list, placed, rewrites, &[undone, &idle].concat())),
            Err(rejection) if which == Partners::Shared => {
                why.get_or_insert(RewriteReason::Rejected(Box::new(rejection.reason)));
            }
            Err(_) => {}
        }
    }
    Err(why)
}

/// Takes the next submission into a group, or leaves the group as it was.
fn join(problem: Problem<'_>, group: &mut Group) -> Result<(), Rejection> {
    let Problem { list, options, limits, .. } = problem;
    let mut budget = Budget::new(&list[group.start]);
    list[group.start + 1..group.end()].iter().for_each(|member| budget.take(member));
    budget.add(&list[group.end()], options.float, limits)?;
    group.join(problem)
}

/// A group of exactly these submissions.
pub(in crate::plan) fn grow(
    problem: Problem<'_>,
    members: std::ops::Range<usize>,
) -> Result<Group, Rejection> {
    let Problem { list, options, limits, .. } = problem;
    let mut group = Group::new(problem, members.start)?;
    let mut budget = Budget::new(&list[members.start]);
    while group.end() < members.end {
        budget.add(&list[group.end()], options.float, limits)?;
        group.join(problem)?;
    }
    Ok(group)
}

impl View {
    /// Bytes from one item (or work-group) to the next, if an access depends on its number alone: the number with these digits, the
    /// fastest first.
    fn step(&self, form: &AccessForm, digits: impl IntoIterator<Item = (Atom, u32)>) -> Option<i128> {
        let mut step = None;
        let mut before = 1;
        for (atom, count) in digits.into_iter().filter(|&(_, count)| count > 1) {
            let weight = self.weight(form, atom);
            let each = weight / before;
            if each * before != weight || step.is_some_and(|step| step != each) {
                return None;
            }
            step = Some(each);
            before *= i128::from(count);
        }
        step.filter(|_| !form.unknown && !form.never)
    }

    /// Bytes from one value of a global id to the next.
    fn step_of_id(&self, form: &AccessForm, dim: usize) -> Option<i128> {
        let (group, local) = (Atom::Group(dim as u8), Atom::Local(dim as u8));
        self.step(form, [(local, self.shape.local[dim]), (group, self.shape.groups[dim])])
    }

    fn group_digits(&self) -> [(Atom, u32); 3] {
        std::array::from_fn(|d| (Atom::Group(d as u8), self.shape.groups[d]))
    }

    /// Bytes from one item to the next, if an access depends on the number of the item alone.
    fn stride(&self, form: &AccessForm) -> Option<i128> {
        let known = |atom: &Atom| matches!(atom, Atom::Group(_) | Atom::Local(_));
        let only = form.offset.terms.iter().all(|&(id, _)| known(self.atoms.get(id)));
        let inside = std::array::from_fn(|d| (Atom::Local(d as u8), self.shape.local[d]));
        let digits: [(Atom, u32); 3] = inside;
        let step = self.step(form, digits.into_iter().chain(self.group_digits()));
        step.filter(|&step| only && step > 0)
    }

    fn pace(&self, form: &AccessForm) -> Option<Pace> {
        let by_groups = || self.step(form, self.group_digits()).filter(|&step| step > 0);
        let by_rows = || self.rows(form).map(|(bytes, items)| Pace::Rows(bytes, items));
        self.stride(form).map(Pace::Items).or_else(|| by_groups().map(Pace::Groups)).or_else(by_rows)
    }

    /// Bytes from one row to the next, and items of a row, if an access goes by quotient and remainder of an item's number.
    fn rows(&self, form: &AccessForm) -> Option<(i128, u32)> {
        let of = |atom: &Atom| match atom {
            Atom::Quotient(base, by) => Some((base.clone(), *by, true)),
            Atom::Remainder(base, by) => Some((base.clone(), *by, false)),
            _ => None,
        };
        let mut parts = form.offset.terms.iter().map(|&(id, weight)| Some((of(self.atoms.get(id))?, weight)));
        let (Some(first), Some(second), None) = (parts.next()?, parts.next()?, parts.next()) else {
            return None;
        };
        let ((row, by, true), bytes) = [&first, &second].into_iter().find(|one| one.0.2)? else {
            return None;
        };
        let ((column, length, false), weight) = [&first, &second].into_iter().find(|one| !one.0.2)? else {
            return None;
        };
        let digits =
            (0..3).flat_map(|d| [(Atom::Local(d as u8), self.shape.local[d])]).chain(self.group_digits());
        let number = AccessForm { offset: row.clone(), ..form.clone() };
        let is_number = row == column && by == length && self.step(&number, digits) == Some(1);
        (is_number && *weight == form.size).then_some(())?;
        Some((*bytes, u32::try_from(*by).ok()?))
    }

    fn is_flat(&self) -> bool {
        self.forms.iter().any(|form| self.stride(form).is_some())
    }

    /// Whether the elements that a submission stores are numbered by its items.
    pub(in crate::plan) fn stores_flat(&self, one: &Submission) -> bool {
        let accesses = analysis_of(one).map_or(&[][..], |analysis| &analysis.accesses);
        let mut stores = accesses.iter().zip(&self.forms).filter(|(access, _)| access.kind.writes());
        stores.all(|(_, form)| self.stride(form).is_some())
    }

    /// The rows or the grid in which an access goes through elements of `stride` bytes.
    fn places(&self, form: &AccessForm, stride: i128, of: &Submission) -> Option<Places> {
        let local = of.kernel.interface.local_size;
        if form.unknown || form.never {
            return None;
        }
        let whole = |bytes: i128| {
            let elements = bytes.checked_div(stride).filter(|elements| elements * stride == bytes);
            elements.and_then(|elements| u32::try_from(elements).ok()).filter(|&elements| elements > 0)
        };
        if let Some(line) = rewrite::line_of(local) {
            // Work-groups are numbered in a line.
            let inside = self.weight(form, Atom::Local(line as u8));
            let length = match of.groups {
                // One row: as long as it is.
                [1, 1, 1] => {
                    let bounds = Bounds { ranges: &form.ranges, facts: &form.facts };
                    let (low, high) = bounds.of(&self.atoms, &form.offset);
                    whole(high.checked_sub(low)? + stride)?
                }
                _ => whole(self.step(form, self.group_digits())?)?,
            };
            // One element a row is one invocation's. A row may also be gone through by rounds alone, each by one of several invocations.
            let is_round = |&(id, _): &(AtomId, i128)| matches!(self.atoms.get(id), Atom::Round { .. });
            let by_rounds = || local[line] > 1 && form.offset.terms.iter().any(is_round);
            return (inside != 0 || length == 1 || by_rounds()).then_some(Places::Rows { length });
        }
        if local[2] != 1 || of.groups[2] != 1 {
            return None;
        }
        let known = |atom: &Atom| matches!(atom, Atom::Group(0 | 1) | Atom::Local(0 | 1));
        let only = form.offset.terms.iter().all(|&(id, _)| known(self.atoms.get(id)));
        let of_local = |d: u8| self.weight(form, Atom::Local(d));
        let fits = |d: u8| {
            let (count, size) = (of.groups[usize::from(d)], i128::from(local[usize::from(d)]));
            count <= 1 || self.weight(form, Atom::Group(d)) == of_local(d) * size
        };
        let is_grid = only && of_local(0) == stride && fits(0) && fits(1);
        is_grid.then(|| Some(Places::Grid { width: whole(of_local(1))? })).flatten()
    }
}

impl Proposal {
    /// Whether both come to the same placement.
    fn is_like(&self, other: &Self) -> bool {
        // Where a line begins depends on whose it is.
        let whose = |one: &Self| matches!(one.places, Places::Line { .. }).then_some(one.partner);
        let of = |one: &Self| (one.places, one.groups, one.local, whose(one));
        of(self) == of(other)
    }

    /// The same for a kernel that begins in a buffer at a later element than the partner.
    fn at_start<'a>(
        self,
        list: &[Submission],
        at: usize,
        view: &impl Fn(usize) -> Option<&'a View>,
    ) -> Option<Self> {
        let start = lines::starts(list, (at, view(at)?), (self.partner, view(self.partner)?))?;
        Some(Self { places: Places::Line { start }, ..self })
    }

    /// The same proposal for a kernel that has other elements in a row than items.
    fn by_rows_of(self, view: &View) -> Option<Self> {
        let Places::Rows { length } = self.places else { return None };
        let items = view.forms.iter().find_map(|form| match view.pace(form)? {
            Pace::Rows(bytes, items) => (bytes == i128::from(length) * form.size).then_some(items),
            _ => None,
        });
        Some(Self { places: Places::Rows { length: items? }, ..self })
    }

    /// The same proposal without the partner's last work-groups, where a kernel has no items for them.
    fn as_far_as_items_go(self, one: &Submission) -> Self {
        let Places::Rows { length } = self.places else { return self };
        let product = |n: [u32; 3]| n.iter().map(|&n| u64::from(n)).product::<u64>();
        let items = product(one.groups) * product(one.kernel.interface.local_size);
        let rows = items / u64::from(length.max(1));
        match u32::try_from(rows) {
            Ok(rows) if rows > 0 && u64::from(rows) < product(self.groups) => {
                Self { groups: [rows, 1, 1], ..self }
            }
            _ => self,
        }
    }

    /// The same proposal for a kernel that does each row by whole work-groups, if it does not have that shape already.
    fn by_groups_of(self, one: &Submission) -> Option<Self> {
        let product = |n: [u32; 3]| n.iter().map(|&n| u64::from(n)).product::<u64>();
        let (size, rows) = (product(one.kernel.interface.local_size), product(self.groups));
        let groups = product(one.groups);
        let is_there = one.kernel.interface.local_size == self.local && groups == rows;
        if is_there || rows == 0 || groups % rows != 0 || !matches!(self.places, Places::Rows { .. }) {
            return None;
        }
        let length = u32::try_from(groups / rows * size).ok()?;
        Some(Self { places: Places::Rows { length }, ..self })
    }
}

/// The places that other members of the group propose for the free ones. Proposals of kernels with one element per item come first, the
/// nearest to the boundary before others; then those with the smallest work-groups, whose invocations do most.
fn proposals<'a>(
    list: &[Submission],
    members: &std::ops::Range<usize>,
    goes: &[(usize, bool)],
    view: &impl Fn(usize) -> Option<&'a View>,
    is_free: &impl Fn(usize) -> bool,
    which: Partners,
) -> SmallVec<[Proposal; 2]> {
    let mut found: SmallVec<[Proposal; 2]> = SmallVec::new();
    let shares = |partner: usize, at: usize| {
        let mut theirs = list[partner].args.iter();
        let is_any = which == Partners::Any;
        at != partner
            && (is_any || theirs.any(|arg| list[at].args.iter().any(|own| own.buffer == arg.buffer)))
    };
    for partner in members.clone().rev() {
        if !goes.iter().any(|&(at, _)| shares(partner, at)) {
            continue;
        }
        let Some(theirs) = view(partner) else { continue };
        let one = &list[partner];
        let local = one.kernel.interface.local_size;
        for &(at, _) in goes.iter().rev().filter(|&&(at, _)| at != partner) {
            let Some(own) = view(at) else { continue };
            // If both are element-wise, the one that cannot be placed determines the elements of a work-group; so does either
            // one if they cannot both be renumbered, because one reads its work-group id.
            let by_items = |at: usize| list[at].kernel.interface.item_only;
            let is_tied = local != list[at].kernel.interface.local_size
                && !(is_free(partner) && by_items(partner) && by_items(at));
            let mut pairs = pairs(list, (at, own), (partner, theirs), which);
            let proposed = pairs.find_map(|(pace, form)| match pace {
                Pace::Items(stride) => {
                    let differs = is_tied || theirs.stride(form).is_none();
                    let places = differs.then(|| theirs.places(form, stride, one)).flatten();
                    places.map(|places| (places, false))
                }
                Pace::Groups(step) => {
                    let places = theirs.places(form, form.size, one)?;
                    let row = theirs.step(form, theirs.group_digits())?;
                    let is_rows = matches!(places, Places::Rows { length } if length > 1);
                    (is_rows && row % step == 0).then_some((places, true))
                }
                Pace::Rows(bytes, _) => {
                    let places = theirs.places(form, form.size, one)?;
                    let is_row =
                        matches!(places, Places::Rows { length } if i128::from(length) * form.size == bytes);
                    is_row.then_some((places, false))
                }
            });
            let Some((places, by_groups)) = proposed else { continue };
            let proposal = Proposal { partner, places, groups: one.groups, local, by_groups };
            if !found.iter().any(|other| other.is_like(&proposal)) {
                found.push(proposal);
            }
        }
    }
    let size = |p: &Proposal| p.local.iter().copied().fold(1, u32::saturating_mul);
    found.sort_by_key(|p| (p.by_groups, if p.by_groups && is_free(p.partner) { size(p) } else { 0 }));
    found
}

/// Accesses of a free kernel and of a partner, to one buffer or to elements of one size: how the one goes, the other's form.
fn pairs<'a>(
    list: &'a [Submission],
    (at, own): (usize, &'a View),
    (partner, theirs): (usize, &'a View),
    which: Partners,
) -> impl Iterator<Item = (Pace, &'a AccessForm)> {
    let accesses = |position: usize, view: &'a View| {
        let submission = &list[position];
        let analysis = analysis_of(submission).ok();
        let accesses = analysis.map_or(&[][..], |analysis| &analysis.accesses).iter();
        accesses.zip(&view.forms).map(move |(access, form)| (submission.args[access.binding].buffer, form))
    };
    let goes = accesses(at, own).filter_map(|(buffer, form)| Some((buffer, form.size, own.pace(form)?)));
    goes.flat_map(move |(buffer, size, pace)| {
        let meets = move |other: BufferId, form: &AccessForm| match which {
            Partners::Shared => other == buffer,
            Partners::Any => form.size == size && matches!(pace, Pace::Items(_)),
        };
        let others = accesses(partner, theirs).filter(move |&(other, form)| meets(other, form));
        others.map(move |(_, form)| (pace, form))
    })
}

/// A submission as it is placed in a group that ends with `last`.
pub(in crate::plan) fn place(
    problem: Problem<'_>,
    (at, last): (usize, usize),
    proposal: &Proposal,
) -> Result<(Submission, RewriteReport), RewriteReason> {
    let Problem { list, uses, .. } = problem;
    let one = &list[at];
    let &Proposal { partner, places, groups, local, .. } = proposal;
    pays(problem, (at, last), proposal)?;
    let items = exactly_once(list, uses, at, proposal)?;
    let (order, words): (Order, SmallVec<[u32; 2]>) = match places {
        Places::Rows { length } | Places::Blocks { length, .. } => {
            (Order::Rows, [length].into_iter().collect())
        }
        Places::Grid { width } => (Order::Grid, [width, items as u32].into_iter().collect()),
        Places::Line { start } => (Order::Line, [start, start + items as u32].into_iter().collect()),
        Places::Padded { .. } => {
            return Err(RewriteReason::Failed { what: "its items stay where they are".to_owned() });
        }
    };
    let (numbering, counts) = match places {
        Places::Blocks { length, counts } => (Digits::in_rows(counts, length), counts),
        _ => (Numbering::Invocations(Spread::of(one.groups)), one.groups),
    };
    let has_width = !matches!(places, Places::Line { .. } | Places::Blocks { .. });
    let widths = if has_width { widths(one, words[0]) } else { SmallVec::new() };
    let kernel = rewrite::place(&one.kernel, numbering, order, local, &widths)?;
    let mut push = one.push.clone();
    push.resize(rewrite::words_at(&one.kernel) as usize, 0);
    let words = words.into_iter().chain(numbering.counts(counts));
    push.extend(words.flat_map(u32::to_le_bytes));
    let line = !matches!(places, Places::Grid { .. });
    let groups = if line { [groups.into_iter().fold(1, u32::saturating_mul), 1, 1] } else { groups };
    let report = RewriteReport {
        submission: at,
        partner,
        places,
        work_group: local,
        groups,
        items,
        rounds: 1,
        beside: false,
        sectors: None,
    };
    Ok((Submission { kernel, base: [0; 3], groups, args: one.args.clone(), push }, report))
}

/// First bytes of the words of a submission's push constants that are the length of the rows it is placed on. Only of those that
/// are numbers to the planner: with others the list is planned again.
fn widths(one: &Submission, length: u32) -> SmallVec<[u32; 2]> {
    let words = one.kernel.planned_push().iter().filter(|&&(_, bits)| bits == 32);
    let value = |at: u32| one.push.get(at as usize..at as usize + 4);
    let is_length = |at: &u32| value(*at) == Some(&length.to_le_bytes()[..]) || mutant!(AnyWordIsTheLength);
    words.map(|&(at, _)| at).filter(is_length).collect()
}
