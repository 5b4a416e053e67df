//! Shows that a submission writes every byte of an argument, whatever was there before.
//!
//! What was not written keeps its old bytes, which matters where those must not be read: after another
//! kernel kept newer ones to itself. A store counts if it happens in every invocation whose number is
//! below some bound and its place is a multiple of that number; all such stores together have to leave
//! no gap.
//!
//! # Refuses
//! - stores inside loops, under conditions that are not followed, or of more than a vector (whose bytes
//!   need not be in one piece)

use super::group::{Group, analysis_of};
use super::submission::{Limits, Submission};
use crate::analysis::access::AccessKind;
use crate::analysis::atoms::{Affine, Atom, Atoms, gcd};
use crate::analysis::form::AccessForm;

/// Most bytes of a store that are certainly in one piece.
const MAX_PIECE: i128 = 16;

/// Whether the submission certainly writes all bytes of its argument number `arg`.
#[must_use]
pub fn overwrites(one: &Submission, arg: usize, limits: &Limits) -> bool {
    let Some(bound) = one.args.get(arg) else { return false };
    let list = std::slice::from_ref(one);
    let (Ok(group), Ok(analysis)) = (Group::new(list, 0, limits), analysis_of(one)) else { return false };
    let mut pieces: Vec<(i128, i128)> = analysis
        .accesses
        .iter()
        .zip(&group.forms[0])
        .filter(|(access, _)| access.binding == arg && access.kind == AccessKind::Write)
        .filter(|(access, _)| access.exact_guards && access.loop_depth == 0)
        .filter_map(|(_, form)| piece(&group.atoms, form, group.layout.shape.local))
        .collect();
    pieces.sort_unstable();
    let mut at = i128::from(bound.offset);
    for (from, to) in pieces {
        if from > at {
            return false;
        }
        at = at.max(to);
    }
    at >= i128::from(bound.offset) + i128::from(bound.len)
}

/// The bytes that all invocations together certainly write by one store, if they are in one piece.
fn piece(atoms: &Atoms, form: &AccessForm, local: [u32; 3]) -> Option<(i128, i128)> {
    if form.unknown || !form.exact_conditions || form.size > MAX_PIECE {
        return None;
    }
    let offset = flat(atoms, &form.offset, local)?;
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
    for condition in &form.conditions {
        let condition = flat(atoms, condition, local)?;
        if condition.bounds(|id| (0, atoms.max(id))).1 <= 0 {
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
    (first <= last && form.size >= unit).then_some((zero + unit * first, zero + unit * last + form.size))
}

/// A condition as factor and constant of the number whose digits the offset has; nothing if it says something else.
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

/// The form over work-group and local ids alone.
fn flat(atoms: &Atoms, form: &Affine, local: [u32; 3]) -> Option<Affine> {
    let mut out = Affine::constant(form.constant);
    for &(id, c) in &form.terms {
        match atoms.get(id) {
            Atom::Group(_) | Atom::Local(_) => out.add_term(id, c),
            Atom::Global(d) => {
                let size = i128::from(local[usize::from(*d)]);
                // An id with one value only has no atom.
                if let Some(group) = atoms.find(&Atom::Group(*d)) {
                    out.add_term(group, c.checked_mul(size)?);
                }
                if let Some(local) = atoms.find(&Atom::Local(*d)) {
                    out.add_term(local, c);
                }
            }
            _ => return None,
        }
    }
    Some(out)
}
