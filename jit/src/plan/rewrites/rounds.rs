//! Makes each round of a free kernel's loop an item of its own, so that the kernel is element-wise.
//!
//! Libraries let an invocation do several elements that are a work-group apart, in a loop or unrolled. In terms of invocations, such a kernel has
//! no rows of any length; in terms of invocations and rounds it is element-wise like any other.
//!
//! # Requires
//! - a free kernel ([`rewrite::rounds`])
//!
//! # Guarantees
//! - no round touches a byte that another round writes ([`are_apart`])
//! - a round that the kernel may not reach stores only under conditions which imply that the kernel reaches it ([`all_last`])
//!
//! # Refuses
//! - kernels that are element-wise already, and those that do not become so

use crate::analysis::access::AccessKind;
use crate::analysis::affine::{Affine, Atom, Atoms};
use crate::analysis::dependence::{Relation, relate};
use crate::plan::grouping::view;
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;
use crate::plan::output::again::Counted;
use crate::rewrite::{self, ByRounds, MOST_ROUNDS};

/// Whether a submission may have rounds that are items.
pub(in crate::plan) fn may_be(one: &Submission) -> bool {
    let repeats = analysis_of(one).is_ok_and(|analysis| {
        let stores = analysis.accesses.iter().filter(|access| access.kind != AccessKind::Read);
        !analysis.loops.is_empty() || stores.count() > 1
    });
    repeats && rewrite::why_not_free(&one.kernel).is_none()
}

/// The submission at this position with its rounds as items, if that makes it element-wise.
pub(in crate::plan) fn flat(one: &Submission, uses: &Uses, at: usize) -> Option<(Submission, Counted)> {
    let step = step(one, uses, at);
    let size = one.kernel.interface.local_size.iter().map(|&n| i128::from(n)).product::<i128>();
    // What is known before anything is written: rounds are an element apart, or a work-group.
    if step.is_some_and(|step| step != 1 && step != size) {
        return None;
    }
    by_rounds(one, uses, at, step, MOST_ROUNDS)
        .filter(|(one, _)| View::alone(one, uses, at).is_some_and(|view| view.stores_flat(one)))
}

/// The submission at this position with its rounds as items.
pub(in crate::plan) fn of(one: &Submission, uses: &Uses, at: usize) -> Option<(Submission, Counted)> {
    of_many(one, uses, at, MOST_ROUNDS)
}

/// The same of up to `limit` rounds: no invocation does them where only the definition is of use.
pub(in crate::plan) fn of_many(
    one: &Submission,
    uses: &Uses,
    at: usize,
    limit: u32,
) -> Option<(Submission, Counted)> {
    if !may_be(one) || one.base != [0; 3] {
        return None;
    }
    by_rounds(one, uses, at, step(one, uses, at), limit)
}

fn by_rounds(
    one: &Submission,
    uses: &Uses,
    at: usize,
    step: Option<i128>,
    limit: u32,
) -> Option<(Submission, Counted)> {
    let mut most = |index: usize| {
        let mut found = None;
        view::ask(one, uses, at, |evaluator, atoms| found = evaluator.rounds_between(atoms, index))?;
        found.map(|(_, _, most)| most)
    };
    let beside = step == Some(1);
    let ByRounds { kernel, count, must_last } = rewrite::rounds(&one.kernel, beside, &mut most, limit)?;
    let groups = [one.groups[0].checked_mul(count)?, one.groups[1], one.groups[2]];
    let one = Submission { kernel, groups, ..one.clone() };
    let mut view = View::alone(&one, uses, at)?;
    let lasts = !must_last || !beside && all_last(&one, &view, count) || mutant!(AnyRoundIsReached);
    (lasts && are_apart(&one, &mut view)).then_some((one, Counted { at, count, beside }))
}

/// How many elements the first store moves from one round to the next, if that shows.
fn step(one: &Submission, uses: &Uses, at: usize) -> Option<i128> {
    let view = View::alone(one, uses, at)?;
    let accesses = analysis_of(one).map_or(&[][..], |analysis| &analysis.accesses);
    let mut stores = accesses.iter().zip(&view.forms).filter(|(access, _)| access.kind.writes());
    let (_, first) = stores.next()?;
    let mut rounds =
        first.offset.terms.iter().filter(|(id, _)| matches!(view.atoms.get(*id), Atom::Round { .. }));
    let bytes = match (rounds.next(), stores.next()) {
        (Some(&(_, bytes)), _) => bytes,
        (None, Some((_, second))) => {
            let apart = second.offset.plus(&first.offset, -1).filter(|apart| apart.terms.is_empty())?;
            apart.constant
        }
        (None, None) => return None,
    };
    bytes.checked_div(first.size).filter(|step| step * first.size == bytes)
}

/// Whether a write of a round happens only where it would in all rounds before, of the same work-group: of conditions that say all that is asked, each
/// form does not fall from one round to the next.
fn all_last(one: &Submission, view: &View, count: u32) -> bool {
    let Ok(analysis) = analysis_of(one) else { return false };
    let writes = analysis.accesses.iter().zip(&view.forms).filter(|(access, _)| access.kind.writes());
    { writes }.all(|(_, form)| {
        form.never || form.certain && form.conditions.iter().all(|one| grows(&view.atoms, one, count.into()))
    })
}

/// Whether a form is the same or greater in the next round: work-group `n g + r` does round `r`.
fn grows(atoms: &Atoms, form: &Affine, count: i128) -> bool {
    let number = Atom::Group(0);
    let is_number = |form: &Affine| match form.terms.as_slice() {
        [(id, 1)] => form.constant == 0 && *atoms.get(*id) == number,
        _ => false,
    };
    let mut by = 0;
    for &(id, weight) in &form.terms {
        match atoms.get(id) {
            atom if *atom == number => by += weight,
            Atom::Remainder(of, d) if is_number(of) && d % count == 0 => by += weight,
            Atom::Quotient(of, d) if is_number(of) && d % count == 0 => {}
            Atom::Group(_) | Atom::Local(_) | Atom::Cell { .. } => {}
            Atom::Quotient(of, _) if weight > 0 && grows(atoms, of, count) => {}
            Atom::Quotient(of, _) | Atom::Remainder(of, _) if !mentions(atoms, of) => {}
            _ => return false,
        }
    }
    by >= 0
}

/// Whether a form depends on the number of the round, or on what may.
fn mentions(atoms: &Atoms, form: &Affine) -> bool {
    form.terms.iter().any(|&(id, _)| match atoms.get(id) {
        Atom::Group(d) => *d == 0,
        Atom::Local(_) | Atom::Cell { .. } => false,
        Atom::Quotient(of, _) | Atom::Remainder(of, _) => mentions(atoms, of),
        _ => true,
    })
}

/// Whether two items have to do with one byte only if neither writes it.
fn are_apart(one: &Submission, view: &mut View) -> bool {
    let Ok(analysis) = analysis_of(one) else { return false };
    let View { atoms, shape, forms, .. } = view;
    let accesses: Vec<_> = analysis.accesses.iter().zip(&*forms).collect();
    let buffer = |binding: usize| one.args[binding].buffer;
    let mut pairs = accesses.iter().enumerate().flat_map(|(n, a)| accesses[n..].iter().map(move |b| (a, b)));
    pairs.all(|((a, x), (b, y))| {
        let meet = buffer(a.binding) == buffer(b.binding) && (a.kind.writes() || b.kind.writes());
        let apart = |relation| matches!(relation, Relation::Disjoint | Relation::SameInvocation);
        !meet || apart(relate(atoms, *shape, x, y)) || mutant!(RoundsAreApart)
    })
}
