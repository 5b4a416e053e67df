//! Has each round of a free kernel's loop be an item of its own, so that it goes by its elements.
//!
//! Libraries let an invocation do several elements that are a work-group apart. By invocations such a kernel has no rows of any length;
//! by invocations and rounds it is element-wise like any other.
//!
//! # Requires
//! - a free kernel ([`rewrite::rounds`])
//!
//! # Guarantees
//! - no two rounds of the kernel have to do with one byte that one of them writes ([`are_apart`])
//!
//! # Refuses
//! - what goes by elements already, and what does not then

use super::group::analysis_of;
use super::submission::Submission;
use super::uses::Uses;
use super::view::View;
use crate::analysis::dependence::{Relation, relate};
use crate::rewrite;

/// Whether a submission may have rounds that are items.
pub(super) fn may_be(one: &Submission) -> bool {
    let has_loops = analysis_of(one).is_ok_and(|analysis| !analysis.loops.is_empty());
    has_loops && rewrite::why_not_free(&one.kernel).is_none()
}

/// A submission by its rounds, how many of them an invocation does, and how it then goes through its buffers.
pub(super) fn of(list: &[Submission], uses: &Uses, at: usize) -> Option<(Submission, u32)> {
    let one = &list[at];
    let (kernel, count) = rewrite::rounds(&one.kernel)?;
    let groups = [one.groups[0].checked_mul(count)?, one.groups[1], one.groups[2]];
    let one = Submission { kernel, groups, ..one.clone() };
    let mut view = View::alone(&one, uses, at)?;
    (view.stores_flat(&one) && are_apart(&one, &mut view)).then_some((one, count))
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
