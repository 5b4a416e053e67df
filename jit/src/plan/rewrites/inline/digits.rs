//! The offset of an access as a sum of digits: ids of a submission, or the parts that make up an id.

use smallvec::SmallVec;

use super::boundary::Weighed;
use crate::analysis::affine::{Affine, Atom, AtomId};
use crate::analysis::evaluate::AccessForm;
use crate::plan::grouping::view::View;
use crate::plan::input::submission::Submission;
use crate::rewrite::{Digit, Part};

/// The offset of a store as a sum of digits: none that is not there tells two items apart.
pub(in crate::plan) fn digits(
    view: &View,
    form: &AccessForm,
    source: &Submission,
) -> Option<SmallVec<[Weighed; 4]>> {
    let known = |atom: &Atom| matches!(atom, Atom::Group(_) | Atom::Local(_));
    if !form.offset.terms.iter().all(|&(id, _)| known(view.atoms.get(id))) {
        return None;
    }
    let mut digits = SmallVec::new();
    for d in 0..3u8 {
        let groups = i128::from(source.groups[usize::from(d)]);
        let local = i128::from(source.kernel.interface.local_size[usize::from(d)]);
        let (of_group, of_local) = (view.weight(form, Atom::Group(d)), view.weight(form, Atom::Local(d)));
        let mut add = |part, weight: i128, count| {
            let is = Digit { dim: d, part, mirrored: weight < 0, scaled: false };
            digits.push(Weighed { is, weight: weight.abs(), count, scale: 1 });
            weight != 0
        };
        let fits = match (groups, local) {
            (0, _) | (_, 0) => false,
            (1, 1) => true,
            (1, _) => add(Part::Global, of_local, local),
            (_, 1) => add(Part::Global, of_group, groups),
            _ if of_group == of_local * local => add(Part::Global, of_local, groups * local),
            _ => add(Part::Group, of_group, groups) && add(Part::Local, of_local, local),
        };
        if !fits {
            return None;
        }
    }
    Some(digits)
}

/// Takes in a condition of a store, which is at most zero: a greatest value of one digit, or of the number that all of them make.
pub(in crate::plan) fn bound(
    view: &View,
    digits: &mut [Weighed],
    condition: &Affine,
    most: &mut Option<i128>,
) -> Option<()> {
    let of = |atom: Atom| view.atoms.find(&atom).map_or(0, |id| condition.coefficient(id));
    let mut left = condition.terms.len();
    let mut factors: SmallVec<[i128; 4]> = SmallVec::new();
    for digit in digits.iter() {
        let d = digit.is.dim;
        let (group, local) = (of(Atom::Group(d)), of(Atom::Local(d)));
        left -= usize::from(group != 0 && digit.is.part != Part::Local);
        left -= usize::from(local != 0 && digit.is.part != Part::Group);
        let size = i128::from(view.shape.local[usize::from(d)]);
        factors.push(match digit.is.part {
            Part::Group => group,
            Part::Local => local,
            Part::Site => return None,
            // An id with one value only has no atom.
            Part::Global if view.atoms.find(&Atom::Local(d)).is_none() || size == 1 => group,
            Part::Global if view.shape.groups[usize::from(d)] == 1 => local,
            Part::Global if group == local * size => local,
            Part::Global => return None,
        });
    }
    if left != 0 {
        return None;
    }
    let mut in_it = factors.iter().enumerate().filter(|(_, factor)| **factor != 0);
    let (first, &factor) = in_it.next()?;
    if in_it.next().is_none() {
        // factor * digit + constant <= 0
        let greatest = (factor > 0).then(|| (-condition.constant).div_euclid(factor))?;
        let digit = &mut digits[first];
        digit.count = digit.count.min(greatest.saturating_add(1)).max(0);
        return Some(());
    }
    // factor / weight is one number for all of them.
    let (lead, weight) = (factor, digits[first].weight);
    let same = digits
        .iter()
        .zip(&factors)
        .all(|(digit, &factor)| factor * weight == lead * digit.weight && !digit.is.mirrored);
    if !same || lead <= 0 {
        return None;
    }
    // lead / weight * bytes + constant <= 0, for the bytes from the first element.
    let least = digits.iter().map(|digit| digit.weight).min()?;
    let bytes = (-condition.constant).checked_mul(weight)?.div_euclid(lead);
    let count = bytes.div_euclid(least) + 1;
    *most = Some(most.map_or(count, |most| most.min(count)).max(0));
    Some(())
}

/// The global ids of a submission, those that have several values.
pub(in crate::plan) fn numbers(one: &Submission) -> SmallVec<[Weighed; 4]> {
    let size = one.kernel.interface.local_size;
    let all = (0..3u8).map(|dim| {
        let d = usize::from(dim);
        let is = Digit { dim, part: Part::Global, mirrored: false, scaled: false };
        Weighed { is, weight: 1, count: i128::from(one.groups[d]) * i128::from(size[d]), scale: 1 }
    });
    all.filter(|number| number.count > 1).collect()
}

/// A digit of a global id: what is worth `low` of it and more, and less than `high`, if that is bounded.
#[derive(Clone, Copy)]
struct Span {
    dim: u8,
    low: i128,
    high: Option<i128>,
}

/// Digits of ids, each with its weight.
type Spans = SmallVec<[(Span, i128); 4]>;

/// The offset of an access as a sum of digits of these ids. Digits are quotients and remainders of an id that together make up all of it, each with its number
/// of values.
pub(in crate::plan) fn parts(
    view: &View,
    form: &AccessForm,
    numbers: &[Weighed],
) -> Option<SmallVec<[Weighed; 4]>> {
    let found = spans(view, &form.offset)?;
    let mut digits = SmallVec::new();
    for number in numbers {
        let mut next = 1;
        let mut own = found.iter().filter(|(span, _)| span.dim == number.is.dim).peekable();
        while let Some((span, weight)) = own.next() {
            let is_last = own.peek().is_none();
            let high = if is_last { number.count } else { span.high? };
            let is_all = !is_last || span.high.is_none_or(|high| high >= number.count);
            let fits = span.low == next && high % span.low == 0 && is_all && *weight > 0;
            if !fits && !mutant!(DigitsMakeUpIds) {
                return None;
            }
            let is = Digit { scaled: span.low > 1, ..number.is };
            digits.push(Weighed { is, weight: *weight, count: high / span.low, scale: span.low });
            next = high;
        }
        if next != number.count {
            return None;
        }
    }
    (digits.len() == found.len()).then_some(digits)
}

/// The terms of a form as digits of ids, lowest first; those that follow each other in the form as in the id are one.
fn spans(view: &View, form: &Affine) -> Option<Spans> {
    let each = form.terms.iter().map(|&(id, weight)| Some((span(view, id)?, weight)));
    let mut each = each.collect::<Option<Spans>>()?;
    each.sort_by_key(|(span, _)| (span.dim, span.low));
    let mut found = Spans::new();
    for (span, weight) in each {
        match found.last_mut() {
            Some((last, own))
                if (last.dim, last.high) == (span.dim, Some(span.low))
                    && weight * last.low == *own * span.low =>
            {
                last.high = span.high;
            }
            _ => found.push((span, weight)),
        }
    }
    Some(found)
}

/// The digit of a global id that an atom is.
fn span(view: &View, id: AtomId) -> Option<Span> {
    let (groups, size) = (view.shape.groups, view.shape.local);
    let (base, by, is_quotient) = match view.atoms.get(id) {
        &Atom::Local(dim) => {
            let d = usize::from(dim);
            return Some(Span { dim, low: 1, high: (groups[d] > 1).then_some(size[d].into()) });
        }
        &Atom::Group(dim) => return Some(Span { dim, low: size[usize::from(dim)].into(), high: None }),
        Atom::Quotient(base, by) => (base, *by, true),
        Atom::Remainder(base, by) => (base, *by, false),
        _ => return None,
    };
    let [(Span { dim, low, high }, 1)] = spans(view, base)?[..] else { return None };
    let middle = low.checked_mul(by)?;
    let divides = base.constant == 0 && high.is_none_or(|high| high % middle == 0);
    let span =
        if is_quotient { Span { dim, low: middle, high } } else { Span { dim, low, high: Some(middle) } };
    divides.then_some(span)
}
