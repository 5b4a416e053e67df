//! What the tests by brute force have in common: random numbers, and what a form is worth at a point.

use super::affine::{Affine, Atom, Atoms};

/// Equal seeds give equal numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    pub(crate) fn between(&mut self, low: i128, high: i128) -> i128 {
        low + self.below((high - low + 1) as usize) as i128
    }
}

/// The value of a form, given the values of atoms that are no quotient and no remainder.
pub(crate) fn evaluate(atoms: &Atoms, form: &Affine, leaf: &impl Fn(&Atom) -> i128) -> i128 {
    let value = |id| match atoms.get(id) {
        Atom::Quotient(base, divisor) => evaluate(atoms, base, leaf).div_euclid(*divisor),
        Atom::Remainder(base, divisor) => evaluate(atoms, base, leaf).rem_euclid(*divisor),
        atom => leaf(atom),
    };
    form.constant + form.terms.iter().map(|&(id, c)| c * value(id)).sum::<i128>()
}
