//! Shows that a submission writes every byte of an argument, whatever was there before.
//!
//! What was not written keeps its old bytes, which matters where those must not be read: after another
//! kernel kept newer ones to itself. A store counts if it happens in every invocation whose number is
//! below some bound and its place is a multiple of that number; all such stores together have to leave
//! no gap. Stores of one invocation to members of an element, under the same conditions, count as one store of them; those of several elements side by
//! side, each under its own guard, as one store whose place has the number of the element as one more digit. Of an image, one store has to go to every texel. The rounds of counting loops around a store are numbers like the ids, and so are quotients
//! and remainders of a number. Padding is not written.
//!
//! # Refuses
//! - stores under conditions that are not followed, in loops that do not count or are left early

mod beside;
pub(in crate::plan::rewrites) mod digits;
pub(in crate::plan::rewrites) mod flat;

use crate::analysis::KernelAnalysis;
use crate::analysis::access::{Access, AccessKind};
use crate::analysis::affine::{Affine, AtomId, Atoms, gcd};
use crate::analysis::evaluate::{AccessForm, Evaluator};
use crate::kernel::TextureKind;
use crate::plan::grouping::group::Group;
use crate::plan::grouping::in_range::{FACTS, leaves_array, most, stays};
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::FuseOptions;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;
use crate::plan::rewrites::inline::texels;
use digits::Fresh;
use flat::{Flat, dense};

/// Whether the submission certainly writes all bytes of its argument number `arg`.
#[must_use]
pub fn overwrites(one: &Submission, arg: usize, limits: &Limits) -> bool {
    one.args.get(arg).is_some_and(|bound| written(one, arg, limits) >= bound.len)
}

/// How many bytes of its argument number `arg`, from the first one on, the submission certainly writes.
#[must_use]
pub fn written(one: &Submission, arg: usize, limits: &Limits) -> u64 {
    let Some(bound) = one.args.get(arg) else { return 0 };
    // Ids that take no value would count as ids that take one.
    if one.groups.contains(&0) {
        return 0;
    }
    if one.kernel.interface.bindings[arg].kind.texture() == Some(TextureKind::StorageImage) {
        let uses = Uses::of(std::slice::from_ref(one));
        return if texels::covers(one, &uses, arg) { bound.len } else { 0 };
    }
    let first = i128::from(bound.offset);
    let bytes = covered_up_to(one, arg, first, limits) - first;
    u64::try_from(bytes).unwrap_or(bound.len).min(bound.len)
}

/// Whether the submission certainly writes all bytes of a range through its argument number `arg`, which is a buffer.
pub(in crate::plan) fn covers(
    one: &Submission,
    arg: usize,
    (first, end): (i128, i128),
    limits: &Limits,
) -> bool {
    // Ids that take no value would count as ids that take one.
    !one.groups.contains(&0) && covered_up_to(one, arg, first, limits) >= end
}

/// The first byte from `first` on that the submission does not certainly write through its argument number `arg`.
fn covered_up_to(one: &Submission, arg: usize, first: i128, limits: &Limits) -> i128 {
    let list = std::slice::from_ref(one);
    let uses = Uses::of(list);
    let problem = Problem { list, uses: &uses, options: &FuseOptions::default(), limits };
    let (Ok(mut group), Ok(analysis)) = (Group::new(problem, 0), analysis_of(one)) else {
        return first;
    };
    let joint = joint(one, &uses, &mut group, analysis, arg);
    let accesses = analysis.accesses.iter().chain(&analysis.joint);
    let stores: Vec<(&Access, &AccessForm)> = accesses
        .zip(group.forms[0].iter().chain(&joint))
        .filter(|(access, _)| access.binding == arg && access.kind == AccessKind::Write)
        // Of what comes before a loop's test only, not every round is certain for which the conditions hold.
        .filter(|(_, form)| form.certain && form.begun.is_empty())
        // With robust access, nothing is certain of a store that may leave what is bound.
        .filter(|(_, form)| !limits.robust || stays(&group.atoms, form) || mutant!(OutsideOverwrites))
        .collect();
    let local = group.layout.shape.local;
    let pieces = together_touched(&mut group.atoms, local, &stores);
    let mut at = first;
    for (from, to) in pieces {
        if from > at {
            break;
        }
        at = at.max(to);
    }
    at
}

/// The bytes that all invocations together certainly touch by accesses that happen wherever their conditions hold, as pieces in order.
pub(in crate::plan) fn together_touched(
    atoms: &mut Atoms,
    local: [u32; 3],
    accesses: &[(&Access, &AccessForm)],
) -> Vec<(i128, i128)> {
    let asked: Vec<AccessForm> = accesses
        .iter()
        .map(|(_, form)| Flat { atoms, local, counters: &form.counters }.asked(form))
        .collect();
    let mut fresh = Fresh::default();
    let asked: Vec<AccessForm> = asked
        .into_iter()
        .map(|form| digits::apart(atoms, local, &mut fresh, &form).unwrap_or(form))
        .collect();
    let accesses: Vec<(&Access, &AccessForm)> = accesses.iter().map(|one| one.0).zip(&asked).collect();
    let beside = beside::forms(atoms, &mut fresh, &accesses);
    let flat = |form| Flat { atoms, local, counters: form };
    let mut pieces: Vec<(i128, i128)> = together(accesses.into_iter())
        .into_iter()
        .flat_map(|Together { form, parts }| {
            let flat = flat(&form.counters);
            let each = |(from, to): (i128, i128)| {
                let size = to - from;
                let (first, end) = piece(&flat, form, size).or_else(|| block(&flat, form, size))?;
                Some((first + from, end + from))
            };
            parts.into_iter().filter_map(each).collect::<Vec<_>>()
        })
        .collect();
    pieces.extend(beside.iter().filter_map(|form| {
        let flat = flat(&form.counters);
        piece(&flat, form, form.size).or_else(|| block(&flat, form, form.size))
    }));
    pieces.sort_unstable();
    pieces
}

/// How many bytes of its argument number `arg`, from the first one on, hold all that the submission may read of it.
#[must_use]
pub fn read_up_to(one: &Submission, arg: usize, limits: &Limits) -> u64 {
    let Some(bound) = one.args.get(arg) else { return 0 };
    let list = std::slice::from_ref(one);
    let uses = Uses::of(list);
    let problem = Problem { list, uses: &uses, options: &FuseOptions::default(), limits };
    let (Ok(group), Ok(analysis)) = (Group::new(problem, 0), analysis_of(one)) else { return bound.len };
    let mut end = 0;
    for (access, form) in analysis.accesses.iter().zip(&group.forms[0]) {
        if access.binding != arg || access.kind == AccessKind::Write || form.never {
            continue;
        }
        if form.unknown || access.texel.is_some() || leaves_array(&group.atoms, form) {
            return bound.len;
        }
        let last = most(&group.atoms, form, &form.offset, FACTS).saturating_add(form.size);
        let last = if mutant!(ReadsEndEarly) { form.accessor.0 + form.size } else { last };
        end = end.max(last.saturating_sub(i128::from(bound.offset)));
    }
    u64::try_from(end).unwrap_or(bound.len).min(bound.len)
}

/// Stores that happen together, at a fixed distance: the members of an element.
struct Together<'a> {
    /// The place of the first of them.
    form: &'a AccessForm,
    /// The bytes that all of them write, counted from there, in ascending order and none next to another.
    parts: Vec<(i128, i128)>,
}

/// Puts stores together that have the same conditions, loops and indices.
fn together<'a>(stores: impl Iterator<Item = (&'a Access, &'a AccessForm)>) -> Vec<Together<'a>> {
    let mut found: Vec<Together<'a>> = Vec::new();
    for (access, form) in stores {
        let is_same = |other: &&mut Together<'_>| {
            let other = other.form;
            (&other.offset.terms, &other.conditions, &other.counters)
                == (&form.offset.terms, &form.conditions, &form.counters)
                && (other.unknown, other.never) == (form.unknown, form.never)
        };
        let parts = access.written();
        let apart = |first: &AccessForm| form.offset.constant - first.offset.constant;
        let at = |apart: i128| {
            parts.iter().map(move |&(from, to)| (apart + i128::from(from), apart + i128::from(to)))
        };
        match found.iter_mut().find(is_same) {
            Some(first) => first.parts.extend(at(apart(first.form))),
            None => found.push(Together { form, parts: at(0).collect() }),
        }
    }
    for Together { parts, .. } in &mut found {
        parts.sort_unstable();
        parts.dedup_by(|next, before| {
            let meet = next.0 <= before.1;
            before.1 = if meet { before.1.max(next.1) } else { before.1 };
            meet
        });
        if let (&[first, ..], &[.., last]) = (&parts[..], &parts[..])
            && mutant!(PaddingIsOverwritten)
        {
            *parts = vec![(first.0, last.1)];
        }
    }
    found
}

/// The forms of the joint stores; none if none of them is to the argument.
fn joint(
    one: &Submission,
    uses: &Uses,
    group: &mut Group,
    analysis: &KernelAnalysis,
    arg: usize,
) -> Vec<AccessForm> {
    if analysis.joint.iter().all(|access| access.binding != arg) {
        return Vec::new();
    }
    let sizes = one.sizes();
    let constants = uses.constants(one);
    let atoms = &mut group.atoms;
    let Some(env) = group.layout.environment(atoms, 0, one, &sizes, &constants) else { return Vec::new() };
    let mut evaluator = Evaluator::new(atoms, analysis, &env);
    let form = |access: &Access| evaluator.access(atoms, access, one.args[access.binding].offset);
    analysis.joint.iter().map(form).collect()
}

/// The bytes that all invocations together certainly write by one store of `size` bytes, if they are in one piece.
fn piece(flat: &Flat<'_>, form: &AccessForm, size: i128) -> Option<(i128, i128)> {
    let atoms = flat.atoms;
    if form.unknown || form.never {
        return None;
    }
    let offset = flat.form(&form.offset)?;
    let conditions = form.conditions.iter().map(|one| flat.form(one)).collect::<Option<Vec<Affine>>>()?;
    if !flat.is_free([&offset].into_iter().chain(&conditions)) {
        return None;
    }
    let unit = offset.terms.iter().fold(0, |unit, &(_, c)| gcd(unit, c)).max(1);
    // The place in units is a number whose digits are ids, or their mirror image where the kernel counts backwards.
    let mut digits: Vec<(i128, i128)> =
        offset.terms.iter().map(|&(id, c)| ((c / unit).abs(), atoms.max(id))).collect();
    digits.sort_unstable();
    // Without a gap from 0 to `last`.
    let (mut first, mut last) = (0, 0);
    for (weight, max) in digits {
        if weight > last + 1 {
            return None;
        }
        last += weight * max;
    }
    for condition in conditions {
        if condition.bounds(|id| (0, atoms.max(id))).1 <= 0 {
            continue;
        }
        // Of an id that has no part in the place, one value is enough: zero, as for the first of a work-group.
        let apart = condition.terms.iter().all(|&(id, _)| offset.coefficient(id) == 0);
        if apart && condition.constant <= 0 {
            continue;
        }
        let (factor, constant) = in_terms_of(atoms, &offset, unit, &condition)?;
        // factor * number + constant <= 0
        if factor > 0 {
            last = last.min((-constant).div_euclid(factor));
        } else {
            first = first.max(-(-constant).div_euclid(-factor));
        }
    }
    let mirrored = |&(id, c): &(_, i128)| if c < 0 { c * atoms.max(id) } else { 0 };
    let zero = offset.constant + offset.terms.iter().map(mirrored).sum::<i128>();
    (first <= last && size >= unit).then_some((zero + unit * first, zero + unit * last + size))
}

/// As [`piece`], for places made of several numbers with a bound each, as in `row * width + column`.
fn block(flat: &Flat<'_>, form: &AccessForm, size: i128) -> Option<(i128, i128)> {
    let atoms = flat.atoms;
    if form.unknown || form.never {
        return None;
    }
    let offset = flat.form(&form.offset)?;
    let unit = offset.terms.iter().fold(0, |unit, &(_, c)| gcd(unit, c)).max(1);
    if size < unit || offset.terms.iter().any(|&(_, c)| c < 0) {
        return None;
    }
    // Numbers by the ids they are made of, with their weight in the place and their greatest value.
    let mut numbers: Vec<(Vec<AtomId>, i128, i128)> =
        offset.terms.iter().map(|&(id, c)| (vec![id], c, atoms.max(id))).collect();
    let mut conditions =
        form.conditions.iter().map(|condition| flat.form(condition)).collect::<Option<Vec<Affine>>>()?;
    if !flat.is_free([&offset].into_iter().chain(&conditions)) {
        return None;
    }
    // What bounds few numbers comes before what bounds them with others.
    conditions.sort_by_key(|condition| condition.terms.len());
    for condition in &conditions {
        let apart = condition.terms.iter().all(|&(id, _)| offset.coefficient(id) == 0);
        if condition.bounds(|id| (0, atoms.max(id))).1 <= 0 || apart && condition.constant <= 0 {
            continue;
        }
        let ids: Vec<AtomId> = condition.terms.iter().map(|t| t.0).collect();
        let (parts, others): (Vec<_>, Vec<_>) =
            numbers.into_iter().partition(|n| n.0.iter().any(|id| ids.contains(id)));
        // All of these numbers, and nothing else.
        if ids.is_empty() || parts.iter().map(|n| n.0.len()).sum::<usize>() != ids.len() {
            return None;
        }
        let weight = parts.iter().fold(0, |weight, n| gcd(weight, n.1));
        let most = dense(parts.iter().map(|n| (n.1 / weight, n.2)).collect())?;
        let factor = condition.terms[0].1.checked_div(offset.coefficient(ids[0]) / weight)?;
        let fits = condition.terms.iter().all(|&(id, c)| c == factor * (offset.coefficient(id) / weight));
        if factor <= 0 || !fits || condition.constant > 0 {
            return None;
        }
        numbers = others;
        numbers.push((ids, weight, most.min((-condition.constant).div_euclid(factor))));
    }
    let last = dense(numbers.iter().map(|n| (n.1 / unit, n.2)).collect())?;
    Some((offset.constant, offset.constant + unit * last + size))
}

/// A condition as factor and constant of the number whose digits the offset has; `None` if it says something else.
fn in_terms_of(atoms: &Atoms, offset: &Affine, unit: i128, condition: &Affine) -> Option<(i128, i128)> {
    let (id, c) = *condition.terms.first()?;
    // Of a mirrored digit d of an id: id = max - d.
    let weight = (offset.coefficient(id) / unit).abs();
    let sign = |id| if offset.coefficient(id) < 0 { -1 } else { 1 };
    let factor = (c * sign(id)).checked_div(weight).filter(|&factor| factor != 0)?;
    let mut constant = condition.constant;
    for &(id, c) in &condition.terms {
        if c * sign(id) != factor * (offset.coefficient(id) / unit).abs() {
            return None;
        }
        if sign(id) < 0 {
            constant += c * atoms.max(id);
        }
    }
    (condition.terms.len() == offset.terms.len()).then_some((factor, constant))
}
