//! Places made of quotients and remainders of a number, as of item `n` the place `n / d * pitch + n % d`: each is a number of its own.
//!
//! A number that takes all values from 0 to `n - 1` takes, with each quotient by `d` below `n / d` (rounded down), all remainders. So what is stored
//! in whole rows certainly is; what the last row has, if it is no whole one, is not counted.

use super::flat::{Flat, dense};
use crate::analysis::affine::{Affine, Atom, AtomId, Atoms};
use crate::analysis::evaluate::AccessForm;

/// The first dimension that no id has.
const FIRST_DIMENSION: u8 = 3;

/// What a number is worth: `low` and more, and less than `high`, if that is bounded.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::plan::rewrites) struct Digit {
    pub(in crate::plan::rewrites) of: Affine,
    pub(in crate::plan::rewrites) low: i128,
    high: Option<i128>,
}

/// Ids of dimensions that there are none of, for numbers that are no ids.
pub(super) struct Fresh {
    next: u8,
    known: Vec<(Digit, i128, AtomId)>,
}

impl Default for Fresh {
    fn default() -> Self {
        Self { next: FIRST_DIMENSION, known: Vec::new() }
    }
}

impl Fresh {
    /// A number of its own that takes this many values.
    pub(super) fn id(&mut self, atoms: &mut Atoms, count: i128) -> Option<AtomId> {
        let id = atoms.intern(Atom::Local(self.next), count - 1);
        self.next = self.next.checked_add(1)?;
        Some(id)
    }

    fn of(&mut self, atoms: &mut Atoms, digit: &Digit, count: i128) -> Option<AtomId> {
        if let Some(known) = self.known.iter().find(|known| known.0 == *digit && known.1 == count) {
            return Some(known.2);
        }
        let id = self.id(atoms, count)?;
        self.known.push((digit.clone(), count, id));
        Some(id)
    }
}

/// A store whose place is made of digits of one number, with numbers of their own in the place of these; `None` if it is made of something else.
pub(super) fn apart(
    atoms: &mut Atoms,
    local: [u32; 3],
    fresh: &mut Fresh,
    form: &AccessForm,
) -> Option<AccessForm> {
    let flat = Flat { atoms, local, counters: &form.counters };
    let is_flat = |one: &Affine| flat.form(one).is_some();
    if is_flat(&form.offset) && form.conditions.iter().all(is_flat) {
        return None;
    }
    // The digits, by their atoms.
    let all = || [&form.offset].into_iter().chain(&form.conditions).flat_map(|one| &one.terms);
    let mut digits: Vec<(AtomId, Digit)> = Vec::new();
    for &(id, _) in all() {
        if digits.iter().all(|one| one.0 != id) {
            digits.extend(digit(flat.atoms, id).map(|digit| (id, digit)));
        }
    }
    digits.sort_by_key(|one| one.1.low);
    let number = digits.first()?.1.of.clone();
    let is_of_number = |one: &Digit| one.of == number;
    let divide = |pair: &[(AtomId, Digit)]| pair[0].1.high.is_some_and(|high| pair[1].1.low % high == 0);
    if !digits.iter().all(|one| is_of_number(&one.1)) || !digits.windows(2).all(divide) {
        return None;
    }
    // It takes all values up to the last one.
    let is_id = |&(id, c): &(AtomId, i128)| {
        c > 0 && matches!(flat.atoms.get(id), Atom::Group(_) | Atom::Local(_) | Atom::Global(_))
    };
    let number = Some(number).filter(|number| number.constant == 0 && number.terms.iter().all(is_id));
    let number = flat.form(&number?)?;
    let mut last = dense(number.terms.iter().map(|&(id, c)| (c, flat.atoms.max(id))).collect())?;
    let is_digit = |id: AtomId| digits.iter().any(|one| one.0 == id);
    // What else there is has nothing to do with it.
    let is_else = |one: &Affine| {
        let mut others = Affine::constant(one.constant);
        one.terms.iter().filter(|term| !is_digit(term.0)).for_each(|&(id, c)| others.add_term(id, c));
        let others = flat.form(&others);
        let meets = |&(id, _): &(AtomId, i128)| number.coefficient(id) != 0;
        others.is_some_and(|others| !others.terms.iter().any(meets))
    };
    if !is_else(&form.offset) && !mutant!(DigitsAreFree) {
        return None;
    }
    let mut conditions: Vec<&Affine> = Vec::new();
    for condition in &form.conditions {
        if is_else(condition) {
            conditions.push(condition);
            continue;
        }
        let own = flat.form(condition)?;
        if own.bounds(|id| (0, flat.atoms.max(id))).1 <= 0 {
            continue;
        }
        let &(id, c) = number.terms.first()?;
        let times = own.coefficient(id) / c;
        let is_number = own.terms.len() == number.terms.len()
            && number.terms.iter().all(|&(id, c)| own.coefficient(id) == times * c);
        if times <= 0 || !is_number {
            return None;
        }
        let most = (-own.constant).div_euclid(times);
        last = if mutant!(NumbersAreUnguarded) { last } else { last.min(most) };
    }
    let values = last + 1;
    let mut numbers: Vec<(AtomId, AtomId)> = Vec::new();
    for (at, (id, digit)) in digits.iter().enumerate() {
        let is_last = at + 1 == digits.len();
        let end = digit.high.map_or(values, |high| if is_last { high.min(values) } else { high });
        let rest = i128::from(mutant!(LastRowsAreWhole) && end % digit.low != 0);
        let count = end.div_euclid(digit.low) + rest;
        if count <= 0 {
            return None;
        }
        numbers.push((*id, fresh.of(atoms, digit, count)?));
    }
    let with = |one: &Affine| {
        let mut out = Affine::constant(one.constant);
        for &(id, c) in &one.terms {
            out.add_term(numbers.iter().find(|of| of.0 == id).map_or(id, |of| of.1), c);
        }
        out
    };
    let conditions = conditions.into_iter().map(with).collect();
    Some(AccessForm { offset: with(&form.offset), conditions, ..form.clone() })
}

/// The digit of a number that a quotient or a remainder is.
pub(in crate::plan::rewrites) fn digit(atoms: &Atoms, id: AtomId) -> Option<Digit> {
    let (base, by, is_quotient) = match atoms.get(id) {
        Atom::Quotient(base, by) => (base, *by, true),
        Atom::Remainder(base, by) => (base, *by, false),
        _ => return None,
    };
    let inner = match base.terms.as_slice() {
        &[(inner, 1)] if base.constant == 0 => digit(atoms, inner),
        _ => None,
    };
    let Digit { of, low, high } = inner.unwrap_or_else(|| Digit { of: base.clone(), low: 1, high: None });
    let middle = low.checked_mul(by)?;
    if high.is_some_and(|high| high % middle != 0) {
        return None;
    }
    Some(if is_quotient { Digit { of, low: middle, high } } else { Digit { of, low, high: Some(middle) } })
}
