//! Shows that every read of an internalized buffer finds what the group itself has written.
//!
//! Accesses in counting loops are taken apart into *instances*, one for each combination of counter
//! values, as long as these are few and known numbers. An instance has a fixed distance from the part
//! of the offset that the invocation gives. A read instance is covered if write instances that have
//! certainly happened fill its bytes: by the same invocation, or, in shared memory, by all invocations
//! of the work-group.

#[cfg(test)]
mod brute;

use std::rc::Rc;

use smallvec::SmallVec;

use crate::Reason;
use crate::analysis::KernelAnalysis;
use crate::analysis::access::{Access, AccessKind};
use crate::analysis::affine::{Affine, Atom, AtomId, Atoms, Bounds, Ranges};
use crate::analysis::expr::Node;
use crate::plan::grouping::group::{Group, site};
use crate::plan::grouping::in_range::{FACTS, greatest};
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::options::{FuseOptions, Policy};
use crate::plan::input::submission::{BufferId, Internalization, Submission};
use crate::plan::output::report::TrustedReport;
use crate::plan::promotion::element::Element;

/// Most combinations of counter values looked at per access.
const MAX_INSTANCES: i128 = 256;

/// Most steps of a proof that one of several writes happens.
const MAX_CASES: u32 = 64;

/// Checks that every read finds what the group has written before. `joint` are stores that say more of what is written
/// than each of the accesses by itself.
pub(crate) fn check_covered(
    list: &[Submission],
    group: &mut Group,
    elements: &[Element],
    joint: &[Element],
    kind: Internalization,
    buffer: BufferId,
    options: &FuseOptions,
) -> Result<(), Reason> {
    let mut unproven = Vec::new();
    {
        let atoms = &group.atoms;
        let writes: Vec<(&Element, Vec<Instance>)> = elements
            .iter()
            .chain(joint)
            .filter(|e| e.kind == AccessKind::Write)
            .filter_map(|e| Some((e, instances(list, atoms, e)?)))
            .collect();
        for read in elements.iter().filter(|e| e.kind == AccessKind::Read) {
            let covered = instances(list, atoms, read).is_some_and(|reads| {
                reads.iter().all(|one| {
                    by_invocation(list, atoms, read, one, &writes)
                        || kind == Internalization::Local && by_group(atoms, read, one, &writes)
                })
            });
            if !covered {
                let place = site(list, read.member, read.access);
                let before = elements.iter().filter(|e| e.kind != AccessKind::Read && e.member < read.member);
                let writer = before.map(|write| write.member).max().and_then(|last| u32::try_from(last).ok());
                unproven.push((
                    read.member,
                    Reason::OldContents {
                        submission: read.member,
                        at: place.at,
                        index: place.index.into(),
                        writer,
                    },
                ));
            }
        }
    }
    for (member, reason) in unproven {
        if options.policy == Policy::Prove {
            return Err(reason);
        }
        group.trusted.push(TrustedReport { first: member, second: member, buffer: Some(buffer), reason });
    }
    Ok(())
}

/// An access with its loop counters fixed.
struct Instance {
    /// The counters and their values.
    counters: SmallVec<[(AtomId, i128); 2]>,
    /// Offset over atoms of the invocation alone.
    offset: Affine,
    /// Bytes from there that it writes, or asks for.
    pieces: Rc<[(i128, i128)]>,
    /// What holds when it happens, as far as it says something of the invocation alone.
    facts: Vec<Affine>,
    /// What suffices for it to happen, if it is certain.
    conditions: Vec<Affine>,
    /// Whether it happens in every invocation in which the conditions hold.
    certain: bool,
}

impl Instance {
    /// The bytes it writes or asks for, less what the invocation contributes to their place.
    fn placed(&self) -> impl Iterator<Item = (i128, i128)> + '_ {
        let start = self.offset.constant;
        self.pieces.iter().map(move |&(from, to)| (start + from, start + to))
    }
}

/// All instances of an access, or `None` if they cannot be enumerated.
fn instances(list: &[Submission], atoms: &Atoms, element: &Element) -> Option<Vec<Instance>> {
    if element.form.never && !mutant!(NobodyWrites) {
        return Some(Vec::new());
    }
    let analysis = analysis_of(&list[element.member]).ok()?;
    let access = analysis.access(element.access)?;
    let pieces = pieces(access);
    // Only counters the offset depends on have to be fixed; others are left to the facts.
    let mut needed: Vec<AtomId> = Vec::new();
    element.form.offset.terms.iter().for_each(|&(id, _)| collect_counters(atoms, id, &mut needed));
    let mut count = 1i128;
    for &id in &needed {
        if !is_counter(analysis, atoms, id) {
            return None;
        }
        let (low, high) = element.form.ranges.get(atoms, id);
        count = count.checked_mul((high - low + 1).max(0))?;
        if count > MAX_INSTANCES {
            return None;
        }
    }
    // An access in a loop whose counter is not fixed happens an unknown number of times.
    let counters = &element.form.counters;
    let certain = element.form.certain && counters.iter().all(|id| needed.contains(id));
    let mut out = Vec::with_capacity(count as usize);
    let mut values: SmallVec<[(AtomId, i128); 2]> =
        needed.iter().map(|&id| (id, element.form.ranges.get(atoms, id).0)).collect();
    loop {
        if count == 0 {
            return Some(out);
        }
        let offset = fixed(atoms, &element.form.offset, &values)?;
        let fix = |forms: &[Affine]| {
            let (mut complete, mut holds) = (true, true);
            let mut fixed_forms = Vec::new();
            for form in forms {
                match fixed(atoms, form, &values) {
                    Some(form) if form.terms.is_empty() => holds &= form.constant <= 0,
                    Some(form) => fixed_forms.push(form),
                    None => complete = false,
                }
            }
            (fixed_forms, complete, holds)
        };
        let (facts, _, happens) = fix(&element.form.facts);
        // They suffice, but it may happen without them: a loop's last round comes to it before it ends the loop.
        let (conditions, complete, suffices) = fix(&element.form.conditions);
        let happens = happens && (suffices || !mutant!(ConditionsAreFacts));
        let begun = |&(id, last): &(AtomId, i128)| values.iter().any(|v| v.0 == id && v.1 <= last);
        let certain = certain && element.form.begun.iter().all(begun);
        if happens {
            out.push(Instance {
                counters: values.clone(),
                offset,
                pieces: pieces.clone(),
                facts,
                conditions,
                certain: certain && suffices && (complete || mutant!(InexactIsExact)),
            });
        }
        // The next combination.
        let mut position = 0;
        loop {
            let Some(entry) = values.get_mut(position) else { return Some(out) };
            let (low, high) = element.form.ranges.get(atoms, entry.0);
            if entry.1 < high {
                entry.1 += 1;
                break;
            }
            entry.1 = low;
            position += 1;
        }
    }
}

/// The bytes that a write has certainly written, or that a read asks for, from its offset on.
///
/// A store of a whole element counts as writing its padding: all accesses to an internalized buffer see elements of
/// one type and layout, so the padding is never read.
fn pieces(access: &Access) -> Rc<[(i128, i128)]> {
    let stride = access.element.and_then(|e| e.index).map_or(0, |index| index.stride);
    let wide = |&(from, to): &(u64, u64)| (i128::from(from), i128::from(to));
    match access.kind {
        AccessKind::Read => access.read().iter().map(wide).collect(),
        _ if mutant!(PaddingIsWritten) => Rc::new([(0, i128::from(access.size))]),
        _ if access.whole_element && access.size <= stride => Rc::new([(0, i128::from(stride))]),
        _ => access.written().iter().map(wide).collect(),
    }
}

/// Whether an atom counts the rounds of a loop.
fn is_counter(analysis: &KernelAnalysis, atoms: &Atoms, id: AtomId) -> bool {
    match atoms.get(id) {
        Atom::Round { .. } => true,
        Atom::Free { node, .. } if mutant!(RoundIsValue) => {
            matches!(analysis.exprs.get(*node), Node::Counter { .. })
        }
        _ => false,
    }
}

/// Free atoms a form depends on, also inside quotients and remainders.
fn collect_counters(atoms: &Atoms, id: AtomId, out: &mut Vec<AtomId>) {
    match atoms.get(id) {
        Atom::Free { .. } | Atom::Round { .. } | Atom::Steps { .. } | Atom::Element { .. } => {
            if !out.contains(&id) {
                out.push(id);
            }
        }
        Atom::Quotient(base, _) | Atom::Remainder(base, _) => {
            base.terms.iter().for_each(|&(inner, _)| collect_counters(atoms, inner, out));
        }
        Atom::Group(_) | Atom::Local(_) | Atom::Global(_) | Atom::Cell { .. } => {}
    }
}

/// The form with counters replaced by numbers; `None` if another free atom is left.
fn fixed(atoms: &Atoms, form: &Affine, values: &[(AtomId, i128)]) -> Option<Affine> {
    let mut out = Affine::constant(form.constant);
    for &(id, c) in &form.terms {
        match value(atoms, id, values) {
            Some(number) => out.constant += c.checked_mul(number)?,
            None if atoms.is_shared(id) => out.add_term(id, c),
            None => return None,
        }
    }
    Some(out)
}

fn value(atoms: &Atoms, id: AtomId, values: &[(AtomId, i128)]) -> Option<i128> {
    if let Some(known) = values.iter().find(|v| v.0 == id) {
        return Some(known.1);
    }
    let inner = |base: &Affine| {
        let form = fixed(atoms, base, values)?;
        form.terms.is_empty().then_some(form.constant)
    };
    match atoms.get(id) {
        Atom::Quotient(base, divisor) => Some(inner(base)?.div_euclid(*divisor)),
        Atom::Remainder(base, divisor) => Some(inner(base)?.rem_euclid(*divisor)),
        _ => None,
    }
}

/// Whether an instance of a write has happened before an instance of a read, if both happen.
fn comes_before(list: &[Submission], write: (&Element, &Instance), read: (&Element, &Instance)) -> bool {
    if mutant!(AnyOrderCovers) {
        return true;
    }
    if write.0.member != read.0.member {
        return write.0.member < read.0.member;
    }
    // In one kernel: by dominance, and in loops only within one iteration.
    let Ok(analysis) = analysis_of(&list[read.0.member]) else { return false };
    analysis.precedes(write.0.access, read.0.access)
        && (write.1.counters.iter().all(|c| read.1.counters.contains(c)) || mutant!(AnyRoundCovers))
}

/// Whether the same invocation has filled the bytes.
fn by_invocation(
    list: &[Submission],
    atoms: &Atoms,
    read: &Element,
    one: &Instance,
    writes: &[(&Element, Vec<Instance>)],
) -> bool {
    let needed: Vec<(i128, i128)> = one.placed().collect();
    let mut pieces: Vec<(i128, i128)> = Vec::new();
    let mut cases: SmallVec<[&Instance; 4]> = SmallVec::new();
    for (write, instances) in writes {
        for instance in instances {
            if instance.offset.terms != one.offset.terms
                || !comes_before(list, (write, instance), (read, one))
            {
                continue;
            }
            let part = |part: &(i128, i128)| instance.placed().any(|p| p.0 <= part.0 && part.1 <= p.1);
            let is_all = needed.iter().all(part);
            if happens_with(list, atoms, (write, instance), (read, one)) {
                // One write of all of it is what most reads find.
                if is_all {
                    return true;
                }
                pieces.extend(instance.placed());
            } else if is_all && instance.certain && write.member != read.member {
                cases.push(instance);
            }
        }
    }
    let mut steps = MAX_CASES;
    fills(pieces, &needed) || in_any_case(atoms, &read.form.ranges, &one.facts, &cases, &mut steps)
}

/// Whether at least one of several writes happens wherever the facts hold: where a condition of one does not hold, another write happens. Two
/// kernels that write the halves of a buffer cover a third that reads all of it.
fn in_any_case(
    atoms: &Atoms,
    ranges: &Ranges,
    facts: &[Affine],
    writes: &[&Instance],
    steps: &mut u32,
) -> bool {
    let Some((first, others)) = writes.split_first() else { return false };
    let Some(left) = steps.checked_sub(1) else { return false };
    *steps = left;
    let mut ranges = ranges.clone();
    ranges.apply(atoms, facts);
    first.conditions.iter().all(|condition| {
        if implies(atoms, &ranges, facts, condition) || mutant!(CasesAreAll) && !others.is_empty() {
            return true;
        }
        // `form <= 0`, or else `1 - form <= 0`.
        let Some(otherwise) = Affine::constant(1).plus(condition, -1) else { return false };
        let facts: Vec<Affine> = facts.iter().cloned().chain([otherwise]).collect();
        in_any_case(atoms, &ranges, &facts, others, steps)
    })
}

/// Whether `form <= 0` follows from facts.
fn implies(atoms: &Atoms, ranges: &Ranges, facts: &[Affine], form: &Affine) -> bool {
    form.bounds(|id| ranges.get(atoms, id)).1 <= 0
        || facts.iter().any(|known| known.terms == form.terms && form.constant <= known.constant)
        || facts.iter().any(|known| follows(atoms, ranges, known, form))
        || follow_together(atoms, ranges, facts, form)
}

/// Whether `write` happens in every invocation in which `read` does.
fn happens_with(
    list: &[Submission],
    atoms: &Atoms,
    write: (&Element, &Instance),
    read: (&Element, &Instance),
) -> bool {
    if write.0.member == read.0.member {
        // It dominates the read.
        return analysis_of(&list[read.0.member]).is_ok_and(|a| a.precedes(write.0.access, read.0.access));
    }
    if mutant!(AnyConditionCovers) {
        return true;
    }
    // What the read's facts say with its counters fixed: a row that is no multiple of the work-group ends in a round that
    // few invocations do.
    let mut narrow = None;
    let implied = |fact: &Affine| {
        let ranges = &read.0.form.ranges;
        implies(atoms, ranges, &read.1.facts, fact) || {
            let narrow = narrow.get_or_insert_with(|| {
                let mut narrow = ranges.clone();
                narrow.apply(atoms, &read.1.facts);
                narrow
            });
            fact.bounds(|id| narrow.get(atoms, id)).1 <= 0
        }
    };
    write.1.certain && write.1.conditions.iter().all(implied)
}

/// Whether `form <= 0` follows from `fact <= 0`: apart from constants `fact = m form + rest`, so that `form` is at most what the least value
/// of `rest` leaves. For example `y < h` follows from `y w + x < h w`.
fn follows(atoms: &Atoms, ranges: &Ranges, fact: &Affine, form: &Affine) -> bool {
    let Some(&(id, first)) = form.terms.first() else { return false };
    let times = fact.coefficient(id) / first;
    let fits = |&(id, c): &(AtomId, i128)| c.checked_mul(times) == Some(fact.coefficient(id));
    if times <= 0 || !form.terms.iter().all(fits) {
        return false;
    }
    let mut rest = fact.clone();
    form.terms.iter().for_each(|&(id, c)| rest.add_term(id, -c * times));
    let least = rest.bounds(|id| ranges.get(atoms, id)).0;
    let most = least.checked_neg().map(|most| most.div_euclid(times));
    most.and_then(|most| most.checked_add(form.constant)).is_some_and(|most| most <= 0)
}

/// Whether `form <= 0` follows from facts that each bound a part of it. For example `y w + x < n` follows from `x < w` and `y < h` where
/// `h w <= n`.
fn follow_together(atoms: &Atoms, ranges: &Ranges, facts: &[Affine], form: &Affine) -> bool {
    let most = greatest(atoms, Bounds { ranges, facts }, form, FACTS);
    most <= 0 || mutant!(SumsAreLess) && most == 1
}

/// Whether the work-group has filled the bytes, for every element of the group the read can mean: by
/// writes that are dense over the local ids and happen in all invocations or in those of a range, or by writes of one invocation
/// that is always there.
fn by_group(atoms: &Atoms, read: &Element, one: &Instance, writes: &[(&Element, Vec<Instance>)]) -> bool {
    let (groups, locals) = by_owner(atoms, &one.offset);
    let mut low = one.placed().map(|p| p.0).min().unwrap_or(one.offset.constant);
    let mut high = one.placed().map(|p| p.1).max().unwrap_or(one.offset.constant);
    // A row that is no multiple of the work-group ends in a round that few invocations do.
    let mut reading = read.form.ranges.clone();
    reading.apply(atoms, &one.facts);
    for (id, c) in locals {
        let (a, b) = reading.get(atoms, id);
        low += (c * a).min(c * b);
        high += (c * a).max(c * b);
    }
    // What all invocations write, or those of a range, by what the local ids contribute.
    let mut dense: Vec<(Digits, Vec<(i128, i128)>)> = Vec::new();
    let mut pieces = Vec::new();
    // Only work-groups that read are of interest.
    let of_group = |id| match atoms.get(id) {
        Atom::Group(_) => read.form.ranges.get(atoms, id),
        _ => (0, atoms.max(id)),
    };
    // What the same kernel wrote says nothing about how far other invocations have come.
    for (write, instances) in writes.iter().filter(|(write, _)| write.member < read.member) {
        for instance in instances.iter().filter(|instance| instance.certain) {
            let (owner, terms) = by_owner(atoms, &instance.offset);
            let only_locals = terms.iter().all(|&(id, _)| matches!(atoms.get(id), Atom::Local(_)));
            if owner != groups || !only_locals {
                continue;
            }
            if let Some(certain) = writers(atoms, &instance.conditions, &of_group) {
                let digit = |&(id, weight): &(AtomId, i128)| Digit { weight, range: certain(id) };
                let digits: Digits = terms.iter().map(digit).collect();
                match dense.iter_mut().find(|(known, _)| *known == digits) {
                    Some((_, pieces)) => pieces.extend(instance.placed()),
                    None => dense.push((digits, instance.placed().collect())),
                }
                continue;
            }
            // The first invocation that the guards allow, if that one always is.
            let first = |id| match atoms.get(id) {
                Atom::Local(_) => (write.form.ranges.get(atoms, id).0, write.form.ranges.get(atoms, id).0),
                _ => of_group(id),
            };
            if instance.conditions.iter().all(|fact| fact.bounds(first).1 <= 0) {
                let by = terms.iter().map(|&(id, c)| c * first(id).0).sum::<i128>();
                pieces.extend(instance.placed().map(|(from, to)| (from + by, to + by)));
            }
        }
    }
    for (mut digits, written) in dense {
        digits.sort_by_key(|digit| digit.weight.abs());
        pieces.extend(runs(written).into_iter().map(|run| spread(&digits, run)));
    }
    fills(pieces, &[(low, high)])
}

/// The ranges of local ids whose invocations all meet the conditions, as far as these are about one id each; `None` if they are not, or no
/// invocation is sure to meet them.
fn writers(
    atoms: &Atoms,
    conditions: &[Affine],
    of_group: &dyn Fn(AtomId) -> (i128, i128),
) -> Option<impl Fn(AtomId) -> (i128, i128)> {
    let mut narrowed: SmallVec<[(AtomId, (i128, i128)); 2]> = SmallVec::new();
    let any = mutant!(AnyGroupWriteCovers);
    for fact in conditions.iter().filter(|fact| !any && fact.bounds(of_group).1 > 0) {
        let mut locals = fact.terms.iter().filter(|(id, _)| matches!(atoms.get(*id), Atom::Local(_)));
        let (&(id, c), None) = (locals.next()?, locals.next()) else { return None };
        let mut rest = fact.clone();
        rest.add_term(id, -c);
        let most = rest.bounds(of_group).1;
        let range = match narrowed.iter_mut().find(|one| one.0 == id) {
            Some((_, range)) => range,
            None => {
                narrowed.push((id, (0, atoms.max(id))));
                &mut narrowed.last_mut()?.1
            }
        };
        // `c id + rest <= 0`
        match c > 0 {
            true => range.1 = range.1.min(most.checked_neg()?.div_euclid(c)),
            false => range.0 = range.0.max(most.checked_neg()?.div_euclid(c)),
        }
    }
    if narrowed.iter().any(|(_, (from, to))| from > to) {
        return None;
    }
    Some(move |id| narrowed.iter().find(|one| one.0 == id).map_or_else(|| (0, atoms.max(id)), |one| one.1))
}

type Digits = SmallVec<[Digit; 3]>;

/// What a local id contributes to an offset.
#[derive(PartialEq)]
struct Digit {
    weight: i128,
    /// Of the invocations that write.
    range: (i128, i128),
}

type Terms = SmallVec<[(AtomId, i128); 3]>;

/// The terms of a form that the work-group decides, and the others.
fn by_owner(atoms: &Atoms, form: &Affine) -> (Terms, Terms) {
    form.terms.iter().copied().partition(|&(id, _)| matches!(atoms.get(id), Atom::Group(_)))
}

/// What all invocations together write, if one writes `run`: all from the first to the last, as long as
/// the steps between them leave no gap. `digits` are in the order of their weights.
fn spread(digits: &[Digit], (mut start, end): (i128, i128)) -> (i128, i128) {
    let mut length = end - start;
    start += digits.iter().map(|digit| digit.weight * digit.range.0).sum::<i128>();
    for Digit { weight, range } in digits {
        if weight.abs() > length && !mutant!(GapsAreCovered) {
            // One invocation's part is sure: that of the first.
            return (start, start + length);
        }
        let steps = range.1 - range.0;
        start += (weight * steps).min(0);
        length += weight.abs() * steps;
    }
    (start, start + length)
}

/// Pieces that touch, joined.
fn runs(mut pieces: Vec<(i128, i128)>) -> Vec<(i128, i128)> {
    pieces.sort_unstable();
    let mut out: Vec<(i128, i128)> = Vec::new();
    for (from, to) in pieces {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

/// Whether the pieces leave no gap in any of the ranges.
fn fills(pieces: Vec<(i128, i128)>, ranges: &[(i128, i128)]) -> bool {
    if mutant!(GapsAreCovered) && !pieces.is_empty() {
        return true;
    }
    let runs = runs(pieces);
    ranges.iter().all(|range| runs.iter().any(|run| run.0 <= range.0 && range.1 <= run.1))
}
