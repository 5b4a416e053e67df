//! Forms over ids, rounds and parts of ids: which values these take together.

use crate::analysis::affine::{Affine, Atom, AtomId, Atoms, Bounds, Ranges};
use crate::analysis::evaluate::AccessForm;

/// The digits of an id that are worth `low` and more, and less than `high`.
struct Part {
    of: AtomId,
    low: i128,
    high: i128,
}

/// What forms are made of here: work-group and local ids, and numbers of rounds.
pub(in crate::plan::rewrites) struct Flat<'a> {
    pub(in crate::plan::rewrites) atoms: &'a Atoms,
    pub(in crate::plan::rewrites) local: [u32; 3],
    pub(in crate::plan::rewrites) counters: &'a [AtomId],
}

/// The greatest sum of numbers with weights, if the sums leave no gap from zero on.
pub(super) fn dense(mut numbers: Vec<(i128, i128)>) -> Option<i128> {
    numbers.sort_unstable();
    numbers.into_iter().try_fold(0, |last, (weight, max)| (weight <= last + 1).then_some(last + weight * max))
}

impl Flat<'_> {
    /// A store without those of its conditions that follow from the others, as what another kernel asks of an element's row and column does from what
    /// is asked where the element is stored.
    pub(in crate::plan::rewrites) fn asked(&self, form: &AccessForm) -> AccessForm {
        let (known, open): (Vec<Affine>, Vec<Affine>) =
            form.conditions.iter().cloned().partition(|condition| self.form(condition).is_some());
        let mut ranges = Ranges::default();
        ranges.apply(self.atoms, &known);
        let follows = |condition: &Affine| {
            let mut ranges = ranges.clone();
            ranges.bound_quotients(self.atoms, condition, &known);
            let bounds = Bounds { ranges: &ranges, facts: &known };
            bounds.of(self.atoms, condition).1 <= 0 || mutant!(OthersFollow)
        };
        let conditions = open.into_iter().filter(|condition| !follows(condition));
        AccessForm { conditions: known.iter().cloned().chain(conditions).collect(), ..form.clone() }
    }

    /// The part of an id that an atom is, through quotients and remainders by numbers that divide what they are of.
    fn part(&self, id: AtomId) -> Option<Part> {
        let (base, by, is_quotient) = match self.atoms.get(id) {
            Atom::Group(_) | Atom::Local(_) => {
                return Some(Part { of: id, low: 1, high: self.atoms.max(id) + 1 });
            }
            Atom::Quotient(base, by) => (base, by, true),
            Atom::Remainder(base, by) => (base, by, false),
            _ => return None,
        };
        let &[(inner, 1)] = base.terms.as_slice() else { return None };
        let Part { of, low, high } = self.part(inner).filter(|_| base.constant == 0)?;
        let middle = low.checked_mul(*by)?;
        let part = if is_quotient { Part { of, low: middle, high } } else { Part { of, low, high: middle } };
        let divides = high % middle == 0 && self.atoms.max(id) == part.high / part.low - 1;
        (divides || mutant!(PartsAreWhole)).then_some(part)
    }

    /// Whether what forms are made of takes all values, whatever the others have: parts of an id are other digits of it.
    pub(super) fn is_free<'a>(&self, forms: impl Iterator<Item = &'a Affine>) -> bool {
        let mut parts: Vec<(AtomId, Part)> = Vec::new();
        for &(id, _) in forms.flat_map(|form| &form.terms) {
            if parts.iter().all(|(other, _)| *other != id)
                && let Some(part) = self.part(id)
            {
                parts.push((id, part));
            }
        }
        let is_below = |a: &Part, b: &Part| a.high <= b.low && b.low % a.high == 0;
        parts.iter().enumerate().all(|(n, (_, a))| {
            parts[n + 1..].iter().all(|(_, b)| a.of != b.of || is_below(a, b) || is_below(b, a))
        })
    }

    /// The form over these alone.
    pub(in crate::plan::rewrites) fn form(&self, form: &Affine) -> Option<Affine> {
        let mut out = Affine::constant(form.constant);
        for &(id, c) in &form.terms {
            match self.atoms.get(id) {
                Atom::Group(_) | Atom::Local(_) => out.add_term(id, c),
                _ if self.counters.contains(&id) => out.add_term(id, c),
                Atom::Quotient(..) | Atom::Remainder(..) if self.part(id).is_some() => out.add_term(id, c),
                Atom::Global(d) => {
                    let size = i128::from(self.local[usize::from(*d)]);
                    // An id with one value only has no atom.
                    if let Some(group) = self.atoms.find(&Atom::Group(*d)) {
                        out.add_term(group, c.checked_mul(size)?);
                    }
                    if let Some(local) = self.atoms.find(&Atom::Local(*d)) {
                        out.add_term(local, c);
                    }
                }
                _ => return None,
            }
        }
        Some(out)
    }
}
