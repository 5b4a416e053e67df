//! Makes the work-groups of a group of element-wise members squares of elements instead of lines, where that touches less memory.
//!
//! Neighbouring elements are best processed by neighbouring invocations. In a transposition this is the case on one side only: on the other
//! side neighbours are a line apart, and each touches a sector of memory of its own. In a square of 16 x 16, as in kernels written by hand,
//! both sides access pieces of lines. In larger squares columns may be staged in shared memory ([`columns`]). So the free members of a
//! finished group are placed ([`place`]) on a grid with the width by which an index is divided, and the group is grown again; the
//! version that touches fewer sectors is used.
//!
//! # Requires
//! - a finished group
//!
//! # Guarantees
//! - the same members in one group, with the same data passed inside of invocations
//! - each item of a placed submission is done exactly once, or has nothing to do (`exactly_once`)
//!
//! # Refuses
//! - squares that save less than a quarter of the sectors, since vectors of neighbouring elements access several at once; where a member has
//!   two dimensions and there is superword code, squares that cost more than a quarter

use smallvec::SmallVec;

use crate::analysis::affine::{Affine, Atom, AtomId, Atoms};
use crate::analysis::dependence::Shape;
use crate::analysis::evaluate::AccessForm;
use crate::plan::grouping::columns::{self, SECTOR};
use crate::plan::grouping::group::{DemandKind, Group};
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::Limits;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{Arg, Promote, Submission};
use crate::plan::input::uses::Uses;
use crate::plan::input::wish::wish;
use crate::plan::output::report::{Places, RewriteReport};
use crate::plan::rewrites::place;
use crate::plan::rewrites::proposal::{Placed, Proposal};
use crate::rewrite;

/// Neighbours whose accesses are one.
const TOGETHER: u32 = 32;
/// Sides of squares that are tried.
const SIDES: [u32; 2] = [columns::SIDE, 16];
/// Widths that are tried.
const MOST_WIDTHS: usize = 4;
/// Number of items in which accesses are counted.
const COUNTED: u64 = 1000;

/// The group in squares, if that touches at least a quarter fewer sectors, or not many more and becomes superword code.
pub(crate) fn of(problem: Problem<'_>, group: &Group, known: &[RewriteReport]) -> Option<(Placed, Group)> {
    let Problem { list, uses, options, limits } = problem;
    if options.no_rewrites || !is_line(group.layout.shape) || !stays_in_invocations(group) {
        return None;
    }
    let widths = widths(group);
    if widths.is_empty() {
        return None;
    }
    let members = group.start..group.end();
    let is_free = |at: usize| {
        list[at].base == [0; 3]
            && !known.iter().any(|one| one.submission == at)
            && rewrite::why_not_free(&list[at].kernel).is_none()
    };
    let shape = shape_of(&list[members.clone()])?;
    if !members.clone().all(|at| shape.is_of(&list[at]) || is_nothing(&list[at]) || is_free(at)) {
        return None;
    }
    let before = sectors(list, uses, group, false);
    let proven = problem.proven();
    let problem = problem.with_options(&proven);
    let is_inside = |_: &Submission, buffer| wish(list, uses, buffer).is_ok_and(|wish| wish != Promote::None);
    // Superword code has internalized data in registers.
    let is_local = |arg: &Arg| wish(list, uses, arg.buffer).is_ok_and(|wish| wish == Promote::Local);
    let is_in_shared = list[members.clone()].iter().flat_map(|one| &one.args).any(is_local);
    let sides = if matches!(shape, Tile::Square) { &SIDES[..] } else { &SIDES[1..] };
    let sized = widths.into_iter().flat_map(|width| sides.iter().map(move |&side| (width, side)));
    let tried = sized.filter_map(|((partner, width), side)| {
        let proposal = shape.proposal(&list[members.clone()], partner, width, side, limits)?;
        let mut placed = placed(problem, &members, &proposal)?;
        let group = place::grow(problem.with_list(&placed.0), members.clone()).ok()?;
        let stages = !is_in_shared && columns::of(&placed.0, &group, limits, is_inside).is_some();
        if side == columns::SIDE && !stages {
            return None;
        }
        let after = sectors(list, uses, &group, stages);
        placed.1.iter_mut().for_each(|one| one.sectors = Some((before, after)));
        // No member takes several elements at once as vectors where one has two dimensions, and a grid lets neighbours load once what they
        // have in common (`dispatch::superword`).
        let most = match shape {
            Tile::Of(_) if limits.shape.superword > 1 => 5,
            _ => 3,
        };
        let pays = after * 4 <= before * most && stays_in_invocations(&group);
        pays.then_some((after, (Placed::of(list, placed.0, placed.1, &[]), group)))
    });
    tried.min_by_key(|&(after, _)| after).map(|(_, placed)| placed)
}

/// The list with the members placed, except for those that have the shape already.
fn placed(
    problem: Problem<'_>,
    members: &std::ops::Range<usize>,
    proposal: &Proposal,
) -> Option<(Vec<Submission>, Vec<RewriteReport>)> {
    let Problem { list, .. } = problem;
    let mut placed = list.to_vec();
    let mut rewrites = Vec::new();
    for at in members.clone() {
        let one = &list[at];
        if one.kernel.interface.local_size == proposal.local && one.groups == proposal.groups {
            continue;
        }
        // What has nothing left to do has no items.
        if is_nothing(one) {
            placed[at].kernel = rewrite::nothing(&one.kernel, proposal.local).ok()?;
            placed[at].groups = proposal.groups;
            continue;
        }
        let (submission, report) = place::place(problem, (at, members.end - 1), proposal).ok()?;
        placed[at] = submission;
        rewrites.push(report);
    }
    Some((placed, rewrites))
}

/// Whether it stands for what others work out.
fn is_nothing(one: &Submission) -> bool {
    one.args.is_empty() && rewrite::is_nothing(&one.kernel)
}

fn is_line(shape: Shape) -> bool {
    shape.local[1..] == [1, 1]
}

/// Whether nothing is handed from one invocation to another, or on trust.
fn stays_in_invocations(group: &Group) -> bool {
    group.trusted.is_empty() && group.demands.iter().all(|demand| demand.kind == DemandKind::Invocation)
}

/// What indices of the group are divided by, and whose they are.
fn widths(group: &Group) -> SmallVec<[(usize, u32); MOST_WIDTHS]> {
    let mut found = SmallVec::new();
    for (at, form) in
        (group.start..).zip(&group.forms).flat_map(|(at, forms)| forms.iter().map(move |form| (at, form)))
    {
        for &(id, _) in &form.offset.terms {
            let (Atom::Quotient(_, width) | Atom::Remainder(_, width)) = group.atoms.get(id) else {
                continue;
            };
            let Some(width) = u32::try_from(*width).ok().filter(|&width| width > 1) else { continue };
            if found.len() < MOST_WIDTHS && !found.iter().any(|&(_, other)| other == width) {
                found.push((at, width));
            }
        }
    }
    found
}

/// The shape of those members that have two dimensions; squares if none has.
#[derive(Clone, Copy)]
enum Tile {
    Of(Shape),
    Square,
}

fn shape_of(members: &[Submission]) -> Option<Tile> {
    let mut tile = Tile::Square;
    for one in members {
        let shape = Shape { groups: one.groups, local: one.kernel.interface.local_size };
        if is_line(shape) {
            continue;
        }
        match tile {
            Tile::Square if shape.local[2] == 1 && shape.groups[2] == 1 => tile = Tile::Of(shape),
            Tile::Of(other) if other == shape => {}
            _ => return None,
        }
    }
    Some(tile)
}

impl Tile {
    fn is_of(self, one: &Submission) -> bool {
        matches!(self, Self::Of(shape) if shape.groups == one.groups && shape.local == one.kernel.interface.local_size)
    }

    fn proposal(
        self,
        members: &[Submission],
        partner: usize,
        width: u32,
        side: u32,
        limits: &Limits,
    ) -> Option<Proposal> {
        let (local, groups) = match self {
            Self::Of(Shape { groups, local }) => (local, groups),
            Self::Square => {
                let product = |n: [u32; 3]| n.iter().map(|&n| u64::from(n)).product::<u64>();
                let items = |one: &Submission| product(one.groups) * product(one.kernel.interface.local_size);
                let lines = members.iter().map(items).max()?.div_ceil(u64::from(width));
                let lines = u32::try_from(lines).ok()?;
                // Four of the larger squares become one work-group.
                let together = if side == columns::SIDE { 2 } else { 1 };
                let count = |items: u32| items.div_ceil(side).next_multiple_of(together);
                ([side, side, 1], [count(width), count(lines), 1])
            }
        };
        let fits = (0..3)
            .all(|d| groups[d] <= limits.max_groups[d] && local[d] <= limits.max_work_group_size[d])
            && local.iter().copied().fold(1, u32::saturating_mul) <= limits.max_work_group_invocations;
        // Most invocations of a line have an element.
        let is_full = u64::from(groups[0]) * u64::from(local[0]) * 3 <= u64::from(width) * 4;
        let proposal = Proposal { partner, places: Places::Grid { width }, groups, local, by_groups: false };
        (fits && is_full).then_some(proposal)
    }
}

/// The sectors that all accesses to memory touch, each work-group's neighbours by themselves, for [`COUNTED`] items: as two work-groups
/// have it, the first one and one in the middle. If it `stages` columns, these count like rows.
fn sectors(list: &[Submission], uses: &Uses, group: &Group, stages: bool) -> u64 {
    let Group { start, layout, ref atoms, ref forms, .. } = *group;
    let mut all = 0;
    for (at, forms) in (start..).zip(forms) {
        let Ok(analysis) = analysis_of(&list[at]) else { continue };
        for (access, form) in analysis.accesses.iter().zip(forms) {
            let buffer = list[at].args[access.binding].buffer;
            let is_inside = || wish(list, uses, buffer).is_ok_and(|wish| wish != Promote::None);
            if !form.never && !form.unknown && !is_inside() {
                let is_staged = stages && columns::is_column(group, form);
                all += if is_staged { least(form) } else { touched(layout.shape, atoms, form) };
            }
        }
    }
    all
}

/// The same of one access.
fn touched(shape: Shape, atoms: &Atoms, form: &AccessForm) -> u64 {
    let Shape { groups, local } = shape;
    let lanes = local.iter().copied().fold(1, u32::saturating_mul).min(TOGETHER);
    let (mut sectors, mut items) = (0, 0);
    for group in [[0; 3], groups.map(|count| count / 2)] {
        let mut seen: SmallVec<[i128; 64]> = SmallVec::new();
        for lane in 0..lanes {
            let inside = [lane % local[0], lane / local[0] % local[1], lane / local[0] / local[1]];
            let place = Place { atoms, shape, group, inside };
            if form.facts.iter().any(|fact| place.value(fact) > 0) {
                continue;
            }
            items += 1;
            let first = place.value(&form.offset);
            seen.extend(
                first.div_euclid(SECTOR)..=(first + form.size - 1).div_euclid(SECTOR).min(first / SECTOR + 8),
            );
        }
        seen.sort_unstable();
        seen.dedup();
        sectors += seen.len() as u64;
    }
    // What neighbours have in common is in a cache either way.
    (sectors * COUNTED).checked_div(items).map_or(0, |all| all.max(least(form)))
}

/// The sectors of [`COUNTED`] consecutive elements.
fn least(form: &AccessForm) -> u64 {
    form.size as u64 * COUNTED / SECTOR as u64
}

/// An invocation.
#[derive(Clone, Copy)]
struct Place<'a> {
    atoms: &'a Atoms,
    shape: Shape,
    group: [u32; 3],
    inside: [u32; 3],
}

impl Place<'_> {
    /// What a form is there, in the first rounds of loops; what is not known counts as the same for all.
    fn value(self, form: &Affine) -> i128 {
        form.terms.iter().fold(form.constant, |sum, &(id, weight)| {
            sum.saturating_add(weight.saturating_mul(self.atom(id)))
        })
    }

    fn atom(self, id: AtomId) -> i128 {
        let of = |ids: [u32; 3], d: u8| i128::from(ids[usize::from(d)]);
        match self.atoms.get(id) {
            &Atom::Group(d) => of(self.group, d),
            &Atom::Local(d) => of(self.inside, d),
            &Atom::Global(d) => of(self.group, d) * of(self.shape.local, d) + of(self.inside, d),
            Atom::Quotient(form, by) => self.value(form).div_euclid(*by),
            Atom::Remainder(form, by) => self.value(form).rem_euclid(*by),
            Atom::Free { .. }
            | Atom::Round { .. }
            | Atom::Steps { .. }
            | Atom::Element { .. }
            | Atom::Cell { .. } => 0,
        }
    }
}
