//! How far an access goes, and whether it stays within what is bound.
//!
//! Without robust access a kernel that leaves a range is undefined, and nothing has to be kept of what it does. With it
//! ([`Limits::robust`](crate::plan::input::limits::Limits::robust)) such an access reads zeros and writes nothing: the same through the same range, and
//! something else wherever it goes through another range, a register or a value that is recomputed. So whatever rests on what an
//! access has read or written asks here first.

use crate::analysis::access::Texel;
use crate::analysis::affine::{Affine, Atom, Atoms, Bounds};
use crate::analysis::evaluate::AccessForm;
use crate::kernel::BindingKind;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::reason::Reason;

/// Facts that bound one form together.
pub(in crate::plan) const FACTS: usize = 3;

/// Whether an access stays within its accessor wherever it happens. Texels have rules of their own.
pub(in crate::plan) fn stays(atoms: &Atoms, form: &AccessForm) -> bool {
    if form.never || form.accessor == Texel::ALL {
        return true;
    }
    if form.unknown || leaves_array(atoms, form) {
        return false;
    }
    let Some(mirrored) = Affine::default().plus(&form.offset, -1) else { return false };
    let (low, high) = (-most(atoms, form, &mirrored, FACTS), most(atoms, form, &form.offset, FACTS));
    form.accessor.0 <= low && high.saturating_add(form.size) <= form.accessor.1
}

/// Whether an access may have an index that an array of a known length does not have. Its form is that of some element.
pub(in crate::plan) fn leaves_array(atoms: &Atoms, form: &AccessForm) -> bool {
    !form.never && form.offset.terms.iter().any(|&(id, _)| matches!(atoms.get(id), Atom::Element { .. }))
}

/// The greatest value of a form where an access happens.
pub(in crate::plan) fn most(atoms: &Atoms, form: &AccessForm, of: &Affine, facts: usize) -> i128 {
    greatest(atoms, Bounds { ranges: &form.ranges, facts: &form.facts }, of, facts)
}

/// The greatest value of a form by what is known. A fact is at most zero, so a form is at most what is left of it without any
/// multiple of the fact: of a sum, each part is bounded by what is known of that part.
pub(in crate::plan) fn greatest(atoms: &Atoms, known: Bounds<'_>, of: &Affine, facts: usize) -> i128 {
    let mut most = known.of(atoms, of).1;
    if facts == 0 {
        return most;
    }
    // ⌊base / d⌋ + rest is ⌊(base + d rest) / d⌋, and a fact may bound that sum.
    for &(id, times) in of.terms.iter().filter(|term| term.1 > 0) {
        let Atom::Quotient(base, d) = atoms.get(id) else { continue };
        let (base, d) = (base.clone(), *d);
        for fact in known.facts {
            let bound = Affine { constant: 0, ..fact.clone() };
            let Some(others) = bound.plus(&base, -1) else { continue };
            let is_part = |&(id, c): &(_, i128)| c % d == 0 && of.coefficient(id) == times * (c / d);
            if !others.terms.iter().all(is_part) {
                continue;
            }
            let mut sum = Affine::atom(id);
            others.terms.iter().for_each(|&(id, c)| sum.add_term(id, c / d));
            // base + d rest is at most this.
            let sum_most = (base.constant - fact.constant).div_euclid(d);
            let Some(rest) = of.plus(&sum, -times) else { continue };
            let part = sum_most.checked_mul(times);
            let both = part.and_then(|part| part.checked_add(self::greatest(atoms, known, &rest, facts - 1)));
            most = most.min(both.unwrap_or(i128::MAX));
        }
    }
    // x − x mod d is the multiple of d that is next to x.
    for &(id, times) in &of.terms {
        let Atom::Remainder(base, d) = atoms.get(id) else { continue };
        let (base, d) = (base.clone(), *d);
        if base.terms.is_empty() || base.terms.iter().any(|&(id, c)| of.coefficient(id) != -times * c) {
            continue;
        }
        let Some(rest) = Affine::atom(id).plus(&base, -1).and_then(|multiple| of.plus(&multiple, -times))
        else {
            continue;
        };
        // −times (base − base mod d)
        let base =
            if times < 0 { self::greatest(atoms, known, &base, facts - 1) } else { known.of(atoms, &base).0 };
        let part = base.div_euclid(d).checked_mul(d).and_then(|multiple| multiple.checked_mul(-times));
        let sum = part.and_then(|part| part.checked_add(self::greatest(atoms, known, &rest, facts - 1)));
        most = most.min(sum.unwrap_or(i128::MAX));
    }
    for fact in known.facts {
        let Some(&(lead, factor)) = fact.terms.first() else { continue };
        let own = of.coefficient(lead);
        let times = own.checked_div(factor).filter(|times| *times > 0 && times * factor == own);
        let Some(times) = times else { continue };
        if fact.terms.iter().all(|&(id, c)| c.checked_mul(times) == Some(of.coefficient(id)))
            && let Some(rest) = of.plus(fact, -times)
        {
            most = most.min(self::greatest(atoms, known, &rest, facts - 1));
        }
    }
    most
}

/// With robust buffer access: whether every access of a submission that may leave its range has a defined effect there. A device may round the
/// ranges of storage buffers up to four bytes, and those of uniform buffers to more, and no dependence test covers those extra bytes. An index
/// beyond an array may reach what follows in the range.
pub(in crate::plan) fn keeps_to_ranges(
    atoms: &Atoms,
    submission: &Submission,
    position: usize,
    forms: &[AccessForm],
) -> Result<(), Reason> {
    let analysis = analysis_of(submission)?;
    for (access, form) in analysis.accesses.iter().zip(forms) {
        let arg = &submission.args[access.binding];
        let kind = submission.kernel.interface.bindings[access.binding].kind;
        if leaves_array(atoms, form) && !mutant!(ArraysAreKeptTo) {
            return Err(Reason::MayLeaveArray { submission: position, at: arg.at });
        }
        let is_tight = kind == BindingKind::StorageBuffer && arg.len.is_multiple_of(4);
        if !is_tight && !stays(atoms, form) && !mutant!(RangesAreTight) {
            return Err(Reason::MayLeaveRange { submission: position, at: arg.at });
        }
    }
    Ok(())
}
