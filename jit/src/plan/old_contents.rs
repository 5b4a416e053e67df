//! Finds what a list certainly reads of a buffer, and nothing before has written: less was written than is read, by too few work-groups or
//! by too short a length. The same numbers say which work-groups have nothing to do, and which updates are lost.
//!
//! # Guarantees
//! - what is found is read, in some invocation, and no submission before writes any byte of it, nor does an invocation of the same submission
//!   before it is read
//!
//! # Refuses
//! - to say anything of reads under conditions that are not followed, of those that leave gaps between them, and of texels

use ahash::AHashMap;

use crate::analysis::KernelAnalysis;
use crate::analysis::access::{Access, AccessKind};
use crate::analysis::affine::{Affine, Atom, Atoms};
use crate::analysis::evaluate::AccessForm;
use crate::plan::grouping::in_range::{FACTS, leaves_array, most};
use crate::plan::input::submission::{BufferId, Submission};
use crate::plan::overrun::evaluated;
use crate::plan::rewrites::must_write::together_touched;

/// Bytes of a buffer, from the first to the one behind the last.
pub type Span = (u64, u64);

/// A part of a buffer that is read, and that nothing before has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldRead {
    /// The submission that reads, and its argument by its place in [`Submission::args`].
    pub submission: usize,
    /// The argument, by its place in [`Submission::args`].
    pub arg: usize,
    /// What is read and not written, in order.
    pub bytes: Vec<Span>,
    /// The submissions before that write to the buffer, at least one.
    pub writers: Vec<usize>,
    /// No less than what they write, in order.
    pub written: Vec<Span>,
}

/// The first of such reads of each buffer that some submission before has written to, and that is not said to have contents.
#[must_use]
pub fn old_reads(list: &[Submission], has_contents: impl Fn(BufferId) -> bool) -> Vec<OldRead> {
    let mut written: AHashMap<BufferId, (Vec<usize>, Vec<Span>)> = AHashMap::new();
    let mut found: Vec<OldRead> = Vec::new();
    for (submission, one) in list.iter().enumerate().filter(|(_, one)| one.runs()) {
        if one.args.iter().all(|arg| has_contents(arg.buffer)) {
            continue;
        }
        let touched = Touched::of(one);
        for (arg, reads) in touched.reads {
            let buffer = one.args[arg].buffer;
            let is_known = found.iter().any(|known| list[known.submission].args[known.arg].buffer == buffer);
            let Some((writers, written)) = written.get(&buffer) else { continue };
            let bytes = without(&reads, written);
            if !bytes.is_empty() && !is_known && !has_contents(buffer) {
                let (writers, written) = (writers.clone(), written.clone());
                found.push(OldRead { submission, arg, bytes, writers, written });
            }
        }
        for (arg, span) in touched.writes {
            let (writers, all) = written.entry(one.args[arg].buffer).or_default();
            if writers.last() != Some(&submission) {
                writers.push(submission);
            }
            all.push(span);
            joined(all);
        }
    }
    found
}

/// All bytes of its buffers that a submission may write, by its arguments.
#[must_use]
pub fn may_write(one: &Submission) -> Vec<(usize, Span)> {
    if one.runs() { Touched::of(one).writes } else { Vec::new() }
}

/// The arguments that some invocation of a submission may read with its numbers, by their places in [`Submission::args`]; where the kernel is
/// not followed, all that it has.
#[must_use]
pub fn may_read(one: &Submission) -> Vec<usize> {
    let found = evaluated(one, |atoms, analysis, evaluator| {
        if !analysis.escaped.is_empty() || one.kernel.interface.uses_device_addresses {
            return None;
        }
        let mut read = Vec::new();
        for access in analysis.accesses.iter().filter(|access| access.kind != AccessKind::Write) {
            if !evaluator.access(atoms, access, one.args[access.binding].offset).never {
                read.push(access.binding);
            }
        }
        Some(read)
    });
    found.unwrap_or_else(|| (0..one.args.len()).collect())
}

/// Whether one invocation may write through one of two arguments what another one accesses through the other, with the numbers of the submission.
#[must_use]
pub(in crate::plan) fn may_meet(one: &Submission, first: usize, second: usize) -> bool {
    let found = evaluated(one, |atoms, analysis, evaluator| {
        if !analysis.escaped.is_empty() || one.kernel.interface.uses_device_addresses {
            return None;
        }
        let mut forms = |arg: usize| -> Vec<(bool, Span, AccessForm)> {
            let all = analysis.accesses.iter().filter(|access| access.binding == arg);
            let forms = all.filter_map(|access| {
                let form = evaluator.access(atoms, access, one.args[arg].offset);
                let span = (!form.never).then(|| may_touch(one, atoms, access, &form))?;
                Some((access.kind.writes(), span, form))
            });
            forms.collect()
        };
        let (of_first, of_second) = (forms(first), forms(second));
        let mut pairs = of_first.iter().flat_map(|a| of_second.iter().map(move |b| (a, b)));
        Some(pairs.any(|((writes, (from, to), a), (also, (start, end), b))| {
            let is_own_element =
                !a.unknown && !b.unknown && a.offset == b.offset && is_own(one, atoms, a, a.size.max(b.size));
            (*writes || *also) && from < end && start < to && !is_own_element
        }))
    });
    found.unwrap_or(true)
}

/// How many work-groups of each dimension, from the first on, hold all invocations that touch a buffer or an image with the numbers of this
/// submission; nothing where the kernel is not followed, or does something else.
#[must_use]
pub fn groups_in_use(one: &Submission) -> Option<[u32; 3]> {
    evaluated(one, |atoms, analysis, evaluator| {
        let is_all = analysis.escaped.is_empty() && !one.kernel.interface.uses_device_addresses;
        if !is_all || analysis.accesses.is_empty() {
            return None;
        }
        let mut used = [0; 3];
        for access in &analysis.accesses {
            let form = evaluator.access(atoms, access, one.args[access.binding].offset);
            if form.never {
                continue;
            }
            for (d, used) in used.iter_mut().enumerate() {
                let last = match atoms.find(&Atom::Group(d as u8)) {
                    Some(id) if one.groups[d] > 1 => form.ranges.get(atoms, id).1,
                    _ => 0,
                };
                *used = u32::try_from(last.max(0) + 1).unwrap_or(u32::MAX).min(one.groups[d]).max(*used);
            }
        }
        Some(used)
    })
}

/// A place that several invocations read and write without an atomic operation and without shared memory between them, so that what some
/// write is lost: the argument and the first byte in its buffer.
#[must_use]
pub fn lost_updates(one: &Submission) -> Option<(usize, u64)> {
    if one.kernel.interface.workgroup_bytes > 0 {
        return None;
    }
    evaluated(one, |atoms, analysis, evaluator| {
        let mut forms = Vec::new();
        for access in &analysis.accesses {
            forms.push(evaluator.access(atoms, access, one.args[access.binding].offset));
        }
        let happens = |access: &Access, form: &AccessForm| {
            access.texel.is_none() && access.exact_guards && is_certain(form)
        };
        let of_kind = |kind: AccessKind| {
            let all = analysis.accesses.iter().zip(&forms);
            all.filter(move |(access, form)| access.kind == kind && happens(access, form))
        };
        let is_several = one.groups.iter().chain(&one.kernel.interface.local_size).any(|count| *count > 1);
        for (write, to) in of_kind(AccessKind::Write).filter(|(_, to)| to.offset.terms.is_empty()) {
            let is_read = of_kind(AccessKind::Read).any(|(read, from)| {
                read.binding == write.binding && from.offset == to.offset && from.conditions == to.conditions
            });
            let by_all = to.conditions.iter().all(|one| one.bounds(|id| (0, atoms.max(id))).1 <= 0);
            if is_read && by_all && is_several {
                return Some((write.binding, unsigned(to.offset.constant)));
            }
        }
        None
    })
}

/// What one submission does to its buffers.
#[derive(Default)]
struct Touched {
    /// By arguments, what is certainly read of what was there before.
    reads: Vec<(usize, Vec<Span>)>,
    /// All that may be written.
    writes: Vec<(usize, Span)>,
}

impl Touched {
    fn of(one: &Submission) -> Self {
        let touched = evaluated(one, |atoms, analysis, evaluator| {
            let form = |access: &Access| evaluator.access(atoms, access, one.args[access.binding].offset);
            let forms = analysis.accesses.iter().map(form).collect::<Vec<_>>();
            analysis.escaped.is_empty().then(|| Self::by_access(one, atoms, analysis, &forms))
        });
        touched.unwrap_or_else(|| {
            let bindings = one.kernel.interface.bindings.iter().enumerate();
            let writes =
                bindings.filter(|(_, binding)| binding.writes).map(|(arg, _)| (arg, whole(one, arg)));
            Self { reads: Vec::new(), writes: writes.collect() }
        })
    }

    fn by_access(
        one: &Submission,
        atoms: &mut Atoms,
        analysis: &KernelAnalysis,
        forms: &[AccessForm],
    ) -> Self {
        let all = || analysis.accesses.iter().zip(forms).enumerate();
        let stores = || all().filter(|(_, (access, form))| access.kind.writes() && !form.never);
        let writes: Vec<(usize, Span)> = stores()
            .map(|(_, (access, form))| (access.binding, may_touch(one, atoms, access, form)))
            .collect();
        let mut reads = Vec::new();
        for arg in 0..one.args.len() {
            let shared = |access: &Access| one.args[access.binding].buffer == one.args[arg].buffer;
            // Whether it finds what was there before the submission: all stores to the buffer are to the invocation's own element, and later.
            let comes_first = |number: usize, read: (&Access, &AccessForm)| {
                stores().filter(|(_, (access, _))| shared(access)).all(|(store, (access, form))| {
                    analysis.precedes(number, store)
                        && (read.0.loop_depth, access.loop_depth) == (0, 0)
                        && read.1.offset == form.offset
                        && is_own(one, atoms, form, read.1.size.max(form.size))
                })
            };
            let loads = all().filter(|(_, (access, form))| {
                let is_plain = access.texel.is_none() && access.exact_guards;
                access.binding == arg && access.kind == AccessKind::Read && is_plain && is_certain(form)
            });
            let (first, others): (Vec<_>, Vec<_>) =
                loads.partition(|(number, (access, form))| comes_first(*number, (access, form)));
            let own: Vec<Span> =
                writes.iter().filter(|one_of| shares(one, one_of.0, arg)).map(|one_of| one_of.1).collect();
            let mut spans = Vec::new();
            for (loads, own) in [(first, Vec::new()), (others, own)] {
                let loads: Vec<_> = loads.into_iter().map(|(_, load)| load).collect();
                let touched = together_touched(atoms, one.kernel.interface.local_size, &loads);
                let (start, end) = whole(one, arg);
                let inside = touched.into_iter().filter_map(|(from, to)| {
                    let span = (unsigned(from).max(start), unsigned(to).min(end));
                    (span.0 < span.1).then_some(span)
                });
                spans.extend(without(&inside.collect::<Vec<_>>(), &own));
            }
            joined(&mut spans);
            if !spans.is_empty() {
                reads.push((arg, spans));
            }
        }
        Self { reads, writes }
    }
}

/// Whether an access happens wherever its conditions hold.
fn is_certain(form: &AccessForm) -> bool {
    !form.unknown && !form.never && form.certain && form.begun.is_empty()
}

fn shares(one: &Submission, a: usize, b: usize) -> bool {
    one.args[a].buffer == one.args[b].buffer
}

/// The bytes that an argument binds.
fn whole(one: &Submission, arg: usize) -> Span {
    let arg = &one.args[arg];
    (arg.offset, arg.offset.saturating_add(arg.len))
}

/// All bytes that an access may touch.
fn may_touch(one: &Submission, atoms: &Atoms, access: &Access, form: &AccessForm) -> Span {
    let (start, end) = whole(one, access.binding);
    let mirrored = Affine::default().plus(&form.offset, -1);
    let (false, false, None, Some(mirrored)) =
        (form.unknown, leaves_array(atoms, form), access.texel, mirrored)
    else {
        return (start, end);
    };
    let first = -most(atoms, form, &mirrored, FACTS);
    let behind = most(atoms, form, &form.offset, FACTS).saturating_add(form.size);
    // In a range that is too short it is undefined where it goes.
    let stays = first >= start.into() && behind <= end.into();
    if stays { (unsigned(first), unsigned(behind)) } else { (start, end) }
}

/// Whether no other invocation touches `size` bytes from the same place on: the ids are digits of the place.
fn is_own(one: &Submission, atoms: &Atoms, form: &AccessForm, size: i128) -> bool {
    let ids = (0..3_u8).flat_map(|d| {
        let at = usize::from(d);
        [(Atom::Group(d), one.groups[at]), (Atom::Local(d), one.kernel.interface.local_size[at])]
    });
    let mut digits = Vec::new();
    for (atom, _) in ids.filter(|(_, count)| *count > 1) {
        let Some(id) = atoms.find(&atom) else { return false };
        digits.push((form.offset.coefficient(id).abs(), atoms.max(id)));
    }
    digits.sort_unstable();
    let below = digits.iter().try_fold(size, |below, &(weight, last)| {
        (weight >= below).then(|| below.saturating_add(weight.saturating_mul(last)))
    });
    digits.len() == form.offset.terms.len() && below.is_some()
}

fn unsigned(byte: i128) -> u64 {
    u64::try_from(byte.max(0)).unwrap_or(u64::MAX)
}

/// Sorts spans and joins those that touch.
fn joined(spans: &mut Vec<Span>) {
    spans.sort_unstable();
    spans.dedup_by(|next, before| {
        let meet = next.0 <= before.1;
        before.1 = if meet { before.1.max(next.1) } else { before.1 };
        meet
    });
}

/// What is in some spans and in none of others, in order.
fn without(spans: &[Span], others: &[Span]) -> Vec<Span> {
    let mut others = others.to_vec();
    joined(&mut others);
    let mut left = Vec::new();
    for &(from, to) in spans {
        let mut at = from;
        for &(start, end) in others.iter().filter(|other| other.0 < to && other.1 > from) {
            if start > at {
                left.push((at, start));
            }
            at = at.max(end);
        }
        if at < to {
            left.push((at, to));
        }
    }
    joined(&mut left);
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_spans() {
        assert_eq!(without(&[(0, 10)], &[(2, 4), (3, 5), (8, 20)]), [(0, 2), (5, 8)]);
        assert_eq!(without(&[(4, 8), (0, 4)], &[]), [(0, 8)]);
        assert_eq!(without(&[(4, 8)], &[(0, 4), (4, 8)]), []);
    }
}
