//! Arguments of one submission that share a part of a buffer, where its invocations may touch the same bytes through both.
//!
//! # Guarantees
//! - what is not found does not happen: no invocation touches through one argument what another one writes through the other
//!
//! # Refuses
//! - to leave anything out where an access is not followed

use crate::analysis::access::Access;
use crate::analysis::affine::{Atoms, gcd};
use crate::analysis::evaluate::AccessForm;
use crate::plan::input::submission::Submission;
use crate::plan::old_contents::{Span, is_own, may_touch, whole};
use crate::plan::overrun::evaluated;

/// Two arguments that share a part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touching {
    /// The arguments, by their places in [`Submission::args`].
    pub args: [usize; 2],
    /// No less than what invocations may touch through both, while one of them writes.
    pub bytes: Span,
}

/// The first two arguments that bind different ranges of a buffer, if invocations may touch the same bytes through both and one writes there.
#[must_use]
pub fn touching(one: &Submission) -> Option<Touching> {
    let pairs = pairs(one);
    if pairs.is_empty() {
        return None;
    }
    let followed = evaluated(one, |atoms, analysis, evaluator| {
        if !analysis.escaped.is_empty() || one.kernel.interface.uses_device_addresses {
            return None;
        }
        let mut forms = Vec::new();
        for access in &analysis.accesses {
            forms.push(evaluator.access(atoms, access, one.args[access.binding].offset));
        }
        let of = |arg: usize| {
            let all = analysis.accesses.iter().zip(&forms);
            all.filter(move |(access, form)| access.binding == arg && !form.never)
        };
        let shared = |&[a, b]: &[usize; 2]| {
            let mut bytes: Option<Span> = None;
            for first in of(a) {
                for second in of(b).filter(|second| first.0.kind.writes() || second.0.kind.writes()) {
                    let Some((from, to)) = both(one, atoms, first, second) else { continue };
                    let (start, end) = bytes.unwrap_or((from, to));
                    bytes = Some((start.min(from), end.max(to)));
                }
            }
            bytes.map(|bytes| Touching { args: [a, b], bytes })
        };
        Some(pairs.iter().find_map(shared))
    });
    followed.unwrap_or_else(|| {
        let &[a, b] = pairs.first()?;
        let ((from, to), (start, end)) = (whole(one, a), whole(one, b));
        one.runs().then_some(Touching { args: [a, b], bytes: (from.max(start), to.min(end)) })
    })
}

/// Arguments that bind different ranges of a buffer that meet, one of them written.
fn pairs(one: &Submission) -> Vec<[usize; 2]> {
    let bindings = &one.kernel.interface.bindings;
    let mut found = Vec::new();
    for (b, of_b) in bindings.iter().enumerate() {
        for (a, of_a) in bindings.iter().enumerate().take(b) {
            let ((from, to), (start, end)) = (whole(one, a), whole(one, b));
            let is_same = one.args[a].buffer == one.args[b].buffer && one.args[a].image.is_none();
            let meets = from < end && start < to && (from, to) != (start, end);
            if is_same && meets && (of_a.writes || of_b.writes) {
                found.push([a, b]);
            }
        }
    }
    found
}

/// What two accesses may both touch, in two invocations.
fn both(
    one: &Submission,
    atoms: &Atoms,
    (a, of_a): (&Access, &AccessForm),
    (b, of_b): (&Access, &AccessForm),
) -> Option<Span> {
    let (first, second) = (may_touch(one, atoms, a, of_a), may_touch(one, atoms, b, of_b));
    let shared = (first.0.max(second.0), first.1.min(second.1));
    if shared.0 >= shared.1 {
        return None;
    }
    if a.texel.is_none() && b.texel.is_none() && !of_a.unknown && !of_b.unknown {
        let is_own = of_a.offset == of_b.offset && is_own(one, atoms, of_a, of_a.size.max(of_b.size));
        if is_own || is_between(of_a, of_b) {
            return None;
        }
    }
    Some(shared)
}

/// Whether one goes to gaps that the other leaves, such as the even and the odd elements.
fn is_between(a: &AccessForm, b: &AccessForm) -> bool {
    let steps = a.offset.terms.iter().chain(&b.offset.terms).fold(0, |all, term| gcd(all, term.1.abs()));
    if steps == 0 {
        return false;
    }
    // `b` begins this many bytes behind some place that `a` may begin at.
    let behind = (b.offset.constant - a.offset.constant).rem_euclid(steps);
    behind >= a.size && behind + b.size <= steps
}
