//! The difference of two offsets as a sum of digits, and what follows if it lies in a window.
//!
//! `S = shift + sum of c * d`, each digit `d` with a positive coefficient `c` and a range of its own. A digit
//! remembers the atoms it is made of on either side. So the part of the sum that some digits make up is, exactly,
//! the difference of two parts of the offsets, and guards that bound those parts bound it.

use smallvec::SmallVec;

use super::super::affine::{Affine, AtomId, Atoms, Bounds, gcd};
use super::super::evaluate::AccessForm;

/// One summand of the difference of two offsets.
#[derive(Clone, Debug)]
struct Digit {
    coefficient: i128,
    /// Least and greatest value.
    low: i128,
    high: i128,
    /// The atom both sides agree on if the digit is zero.
    atom: Option<AtomId>,
    /// The atoms whose terms in the two offsets make up this summand.
    parts: [SmallVec<[AtomId; 2]>; 2],
}

#[derive(Default)]
pub(super) struct Digits {
    digits: SmallVec<[Digit; 8]>,
    /// Numbers with one weight on both sides: their terms cancel.
    cancelled: SmallVec<[AtomId; 2]>,
}

pub(super) enum Solution {
    /// The sum never falls into the window.
    Never,
    /// If it does, the digits of these atoms are zero.
    Zero(SmallVec<[AtomId; 8]>),
}

impl Digits {
    /// The difference of two offsets, or `None` if one of the accesses cannot happen.
    pub(super) fn of(atoms: &Atoms, a: &AccessForm, b: &AccessForm) -> Option<Self> {
        let mut digits = Self::default();
        let mut seen: SmallVec<[AtomId; 8]> = SmallVec::new();
        let only = |id| SmallVec::from_slice(&[id]);
        for &(id, _) in a.offset.terms.iter().chain(&b.offset.terms) {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let (ca, cb) = (a.offset.coefficient(id), b.offset.coefficient(id));
            let (x, y) = (a.ranges.get(atoms, id), b.ranges.get(atoms, id));
            if x.0 > x.1 || y.0 > y.1 {
                return None;
            }
            if atoms.is_uniform(id) {
                // One number on both sides, under what is known on both.
                if ca == cb {
                    digits.cancelled.push(id);
                }
                digits.push(Digit {
                    coefficient: ca - cb,
                    low: x.0.max(y.0),
                    high: x.1.min(y.1),
                    atom: None,
                    parts: [only(id), only(id)],
                });
            } else if ca == cb && atoms.is_shared(id) {
                digits.push(Digit {
                    coefficient: ca,
                    low: x.0 - y.1,
                    high: x.1 - y.0,
                    atom: Some(id),
                    parts: [only(id), only(id)],
                });
            } else {
                // Different weights, or values that have nothing to do with each other.
                let none = SmallVec::new;
                digits.push(Digit {
                    coefficient: ca,
                    low: x.0,
                    high: x.1,
                    atom: None,
                    parts: [only(id), none()],
                });
                digits.push(Digit {
                    coefficient: -cb,
                    low: y.0,
                    high: y.1,
                    atom: None,
                    parts: [none(), only(id)],
                });
            }
        }
        Some(digits)
    }

    /// Adds a digit with a positive coefficient; unattached ones of one coefficient become one.
    fn push(&mut self, mut digit: Digit) {
        if digit.coefficient == 0 {
            return;
        }
        if digit.coefficient < 0 {
            (digit.low, digit.high) = (-digit.high, -digit.low);
            digit.coefficient = -digit.coefficient;
        }
        if digit.low == 0 && digit.high == 0 && digit.atom.is_none() {
            return;
        }
        if digit.atom.is_none()
            && let Some(same) =
                self.digits.iter_mut().find(|d| d.atom.is_none() && d.coefficient == digit.coefficient)
        {
            same.low += digit.low;
            same.high += digit.high;
            for (all, more) in same.parts.iter_mut().zip(digit.parts) {
                all.extend(more);
            }
            return;
        }
        self.digits.push(digit);
    }

    /// Whether the sum of all digits is never further from zero than `most`.
    pub(super) fn is_within(&self, atoms: &Atoms, a: &AccessForm, b: &AccessForm, most: i128) -> bool {
        let (least, greatest) = self.reach(atoms, a, b, 0, i128::MAX);
        least >= -most && greatest <= most
    }

    /// What follows if the sum of all digits lies in `low..=high`.
    pub(super) fn solve(
        mut self,
        atoms: &Atoms,
        a: &AccessForm,
        b: &AccessForm,
        low: i128,
        high: i128,
    ) -> Solution {
        // The sum is a multiple of the common divisor of the coefficients.
        let step = self.digits.iter().fold(0, |g, d| gcd(g, d.coefficient));
        let (mut low, mut high) = (low, high);
        if step > 0 {
            low = div_up(low, step) * step;
            high = high.div_euclid(step) * step;
        } else {
            (low, high) = (low.max(0), high.min(0));
        }
        if low > high {
            return Solution::Never;
        }
        self.digits.sort_by_key(|d| std::cmp::Reverse(d.coefficient));
        let all = self.reach(atoms, a, b, 0, i128::MAX);
        if all.0 > high || all.1 < low {
            return Solution::Never;
        }
        let mut zero = SmallVec::new();
        let window = (low, high);
        // Common divisor of the coefficients so far, and what the digits from here on reach.
        let (mut step, mut here) = (0, all);
        for (n, digit) in self.digits.iter().enumerate() {
            if step > 0 {
                // Up to a multiple of that, these digits lie in the window: which one, if only one is in their reach?
                let first = div_up(here.0.saturating_sub(window.1), step);
                let last = here.1.saturating_sub(window.0).div_euclid(step);
                if first > last {
                    return Solution::Never;
                }
                if first == last {
                    let moved = step.saturating_mul(first);
                    low = low.max(window.0.saturating_add(moved));
                    high = high.min(window.1.saturating_add(moved));
                }
            }
            step = if mutant!(HeaviestDivides) && step > 0 { step } else { gcd(step, digit.coefficient) };
            let (least, most) = self.reach(atoms, a, b, n + 1, digit.coefficient);
            here = (least, most);
            // coefficient * digit = sum - rest, so it lies in low - most ..= high - least.
            let first = div_up(low.saturating_sub(most), digit.coefficient).max(digit.low);
            let last = high.saturating_sub(least).div_euclid(digit.coefficient).min(digit.high);
            if first > last {
                return Solution::Never;
            }
            if (first != 0 || last != 0) && !(mutant!(AnyDigitIsZero) && digit.atom.is_some()) {
                // This digit may be something else: it joins the window for those below it.
                low = low.saturating_sub(digit.coefficient.saturating_mul(last));
                high = high.saturating_sub(digit.coefficient.saturating_mul(first));
                continue;
            }
            if let Some(id) = digit.atom {
                zero.push(id);
            }
        }
        Solution::Zero(zero)
    }

    /// Least and greatest sum of the digits from number `from` on. They come after one of weight `above`.
    fn reach(&self, atoms: &Atoms, a: &AccessForm, b: &AccessForm, from: usize, above: i128) -> (i128, i128) {
        let rest = &self.digits[from..];
        let (mut least, mut most) = (0i128, 0i128);
        for digit in rest {
            least = least.saturating_add(digit.coefficient.saturating_mul(digit.low));
            most = most.saturating_add(digit.coefficient.saturating_mul(digit.high));
        }
        if rest.is_empty() {
            return (least, most);
        }
        // A guard may bound these together (`row * width + column`, `column < width`): what they sum up to is the
        // difference of their terms in the two offsets.
        let offsets = [&a.offset, &b.offset];
        let mut sides = [Affine::default(), Affine::default()];
        for ((side, form), offset) in sides.iter_mut().enumerate().zip(offsets) {
            if mutant!(DigitsByOwnWeight) {
                let small = offset.terms.iter().filter(|t| t.1.abs() < above);
                small.for_each(|&(id, c)| form.add_term(id, c));
                continue;
            }
            for &id in rest.iter().flat_map(|digit| &digit.parts[side]) {
                form.add_term(id, offset.coefficient(id));
            }
        }
        let mut tighten = |sides: &[Affine; 2]| {
            let x = Bounds { ranges: &a.ranges, facts: &a.facts }.of(atoms, &sides[0]);
            let y = Bounds { ranges: &b.ranges, facts: &b.facts }.of(atoms, &sides[1]);
            least = least.max(x.0.saturating_sub(y.1));
            most = most.min(x.1.saturating_sub(y.0));
        };
        tighten(&sides);
        // What cancels adds nothing to the difference, but guards may speak of it (`m + column < width`).
        let weight = |id| a.offset.coefficient(id);
        let cancelled: SmallVec<[AtomId; 2]> =
            self.cancelled.iter().copied().filter(|&id| weight(id).abs() < above).collect();
        if !cancelled.is_empty() {
            for form in &mut sides {
                cancelled.iter().for_each(|&id| form.add_term(id, weight(id)));
            }
            tighten(&sides);
        }
        (least, most)
    }
}

fn div_up(a: i128, b: i128) -> i128 {
    -((-a).div_euclid(b))
}
