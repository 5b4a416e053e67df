//! Arithmetic on words: exact where it is, unknown in a range where it is not.

use super::affine::{Affine, Atoms, as_remainder, gcd, high_half, rejoin, split};
use super::evaluate::Evaluator;
use super::expr::{BinaryOp, NodeId, mask};
use super::word::{Value, as_signed, as_unsigned};

/// Most runs of equal bits of a constant that bitwise operations are taken apart into.
const MAX_FIELDS: usize = 6;

impl Evaluator<'_> {
    pub(super) fn binary(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        op: BinaryOp,
        width: u8,
        a: NodeId,
        b: NodeId,
    ) -> Option<Value> {
        let left = self.value(atoms, a);
        let right = self.value(atoms, b);
        let form = match op {
            BinaryOp::Add => {
                let sum = as_remainder(atoms, left.form.plus(&right.form, 1)?);
                rejoin(atoms, sum)
            }
            BinaryOp::Sub => as_remainder(atoms, left.form.plus(&right.form, -1)?),
            BinaryOp::UMulHigh => {
                let (x, y) = (as_unsigned(&left, width)?, as_unsigned(&right, width)?);
                let product = match (x.constant(), y.constant()) {
                    (_, Some(factor)) => x.form.scaled(factor)?,
                    (Some(factor), None) => y.form.scaled(factor)?,
                    (None, None) => return None,
                };
                // Not simplified: what is added before the last shift is a part of the multiplier.
                high_half(atoms, product, width, self.bounds())?
            }
            BinaryOp::Mul => match (left.constant(), right.constant()) {
                (_, Some(factor)) => left.form.scaled(factor)?,
                (Some(factor), None) => right.form.scaled(factor)?,
                (None, None) => return self.product(atoms, node, &left, &right, width),
            },
            BinaryOp::Shl => left.form.scaled(1 << shift_of(&right, width)?)?,
            BinaryOp::UDiv | BinaryOp::UMod => {
                let divisor = as_unsigned(&right, width)?.constant().filter(|&d| d > 0)?;
                return self.divide(atoms, node, &left, width, divisor, op == BinaryOp::UDiv);
            }
            BinaryOp::SDiv | BinaryOp::SRem | BinaryOp::SMod => {
                let divisor = right.constant().filter(|&d| d > 0 && d < 1 << (width - 1))?;
                let dividend = as_signed(&left, width)?;
                if dividend.low < 0 {
                    let (low, high) = match op {
                        BinaryOp::SDiv => (dividend.low / divisor, dividend.high.max(0) / divisor),
                        BinaryOp::SRem => (1 - divisor, divisor - 1),
                        _ => (0, divisor - 1),
                    };
                    return Some(self.unknown(atoms, node, low, high));
                }
                return self.divide(atoms, node, &dividend, width, divisor, op == BinaryOp::SDiv);
            }
            BinaryOp::ShrLogical | BinaryOp::ShrArithmetic => {
                let shift = shift_of(&right, width)?;
                let value = if op == BinaryOp::ShrArithmetic {
                    as_signed(&left, width)?
                } else {
                    as_unsigned(&left, width)?
                };
                if value.low < 0 {
                    return None;
                }
                return self.divide(atoms, node, &value, width, 1 << shift, true);
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                return self.bitwise(atoms, node, op, width, &left, &right);
            }
            BinaryOp::UMin | BinaryOp::UMax | BinaryOp::SMin | BinaryOp::SMax => {
                return self.extremum(atoms, node, op, width, &left, &right);
            }
        };
        Some(self.exact(atoms, form))
    }

    /// The product of two values that are no constants: only its range is known.
    fn product(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        left: &Value,
        right: &Value,
        width: u8,
    ) -> Option<Value> {
        let (x, y) = (as_unsigned(left, width)?, as_unsigned(right, width)?);
        let high = x.high.checked_mul(y.high)?;
        (high <= i128::from(mask(width))).then(|| self.unknown(atoms, node, x.low * y.low, high))
    }

    /// Least or greatest of two values: the one it always is, or what is known of its range.
    fn extremum(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        op: BinaryOp,
        width: u8,
        left: &Value,
        right: &Value,
    ) -> Option<Value> {
        let signed = matches!(op, BinaryOp::SMin | BinaryOp::SMax);
        let meaning = if signed { as_signed } else { as_unsigned };
        let (x, y) = (meaning(left, width)?, meaning(right, width)?);
        let least = matches!(op, BinaryOp::UMin | BinaryOp::SMin);
        // Compared as a difference: both may grow with the same id.
        let apart = self.exact(atoms, x.form.plus(&y.form, -1)?);
        // The greater of two is at least half of both, and the least at most: an absolute value is not negative.
        let both = self.exact(atoms, x.form.plus(&y.form, 1)?);
        let part = if mutant!(ExtremumIsTheSum) { 1 } else { 2 };
        Some(if mutant!(ExtremumIsFirst) {
            x
        } else if apart.high <= 0 || x.high <= y.low {
            if least { x } else { y }
        } else if apart.low >= 0 || y.high <= x.low {
            if least { y } else { x }
        } else if least {
            let high = x.high.min(y.high).min(both.high.div_euclid(part));
            self.unknown(atoms, node, x.low.min(y.low), high)
        } else {
            let low = x.low.max(y.low).max(-(-both.low).div_euclid(part));
            self.unknown(atoms, node, low, x.high.max(y.high))
        })
    }

    /// Quotient or remainder by a positive constant.
    fn divide(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        value: &Value,
        width: u8,
        divisor: i128,
        quotient: bool,
    ) -> Option<Value> {
        let power = divisor & (divisor - 1) == 0;
        let value = match as_unsigned(value, width) {
            Some(value) => value,
            // Modulo a power of two, wrap-around does not matter: add multiples until it is positive.
            None if !quotient && power => {
                let mut form = value.form.clone();
                form.constant = form
                    .constant
                    .checked_add((-value.low).max(0).div_euclid(divisor).checked_add(1)? * divisor)?;
                self.exact(atoms, form)
            }
            None => {
                return Some(if quotient {
                    self.any(atoms, node)
                } else {
                    self.unknown(atoms, node, 0, divisor - 1)
                });
            }
        };
        let form = split(atoms, &value.form, divisor, quotient, self.bounds())?;
        Some(self.exact(atoms, form))
    }

    /// And, or, exclusive or: exact with a constant, and for an or (or exclusive or) of values without
    /// a common bit.
    fn bitwise(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        op: BinaryOp,
        width: u8,
        left: &Value,
        right: &Value,
    ) -> Option<Value> {
        let (value, bits) = match (left.constant(), right.constant()) {
            (_, Some(bits)) => (left, bits),
            (Some(bits), None) => (right, bits),
            (None, None) if op == BinaryOp::And => return None,
            (None, None) => {
                let (x, y) = (as_unsigned(left, width)?, as_unsigned(right, width)?);
                if !(x.high < lowest_bit(&y.form) || y.high < lowest_bit(&x.form)) {
                    return None;
                }
                return Some(self.exact(atoms, x.form.plus(&y.form, 1)?));
            }
        };
        let bits = bits & i128::from(mask(width));
        if op == BinaryOp::And {
            // The bits that count are below this: what wraps at or above it does not matter.
            let above = next_power(bits);
            if let Some(low) = self.divide(atoms, node, value, width, above, false) {
                return self
                    .by_fields(atoms, op, bits, &low)
                    .or_else(|| Some(self.unknown(atoms, node, 0, bits)));
            }
            return Some(self.unknown(atoms, node, 0, bits));
        }
        let value = as_unsigned(value, width)?;
        self.by_fields(atoms, op, bits, &value)
    }

    /// Takes a value that is not negative apart into the runs of equal bits of `bits`, and puts it
    /// together again with each run kept, cleared, set or flipped.
    fn by_fields(&mut self, atoms: &mut Atoms, op: BinaryOp, bits: i128, value: &Value) -> Option<Value> {
        let mut sum = Affine::default();
        let mut start = 0u32;
        for _ in 0..MAX_FIELDS {
            let ones = bits >> start & 1 == 1;
            let rest = if ones { !(bits >> start) } else { bits >> start };
            // The last run of zeros has no end.
            let length = (rest != 0).then(|| rest.trailing_zeros());
            let above = split(atoms, &value.form, 1 << start, true, self.bounds())?;
            let field = match length {
                Some(length) => split(atoms, &above, 1 << length, false, self.bounds())?,
                None => above,
            };
            let full = length.map_or(0, |length| (1i128 << length) - 1);
            let field = match (op, ones) {
                (BinaryOp::And, false) => Affine::default(),
                (BinaryOp::Or, true) => Affine::constant(full),
                (BinaryOp::Xor, true) => Affine::constant(full).plus(&field, -1)?,
                _ => field,
            };
            sum = sum.plus(&field, 1 << start)?;
            match length {
                Some(length) => start += length,
                None => return Some(self.exact(atoms, sum)),
            }
        }
        None
    }
}

/// A shift by a constant below the width; by more it is undefined.
fn shift_of(amount: &Value, width: u8) -> Option<u32> {
    let shift = amount.constant()?;
    (0..i128::from(width)).contains(&shift).then_some(shift as u32)
}

/// A power of two that divides all values of the form.
fn lowest_bit(form: &Affine) -> i128 {
    let step = form.terms.iter().fold(form.constant, |g, t| gcd(g, t.1));
    if step == 0 { i128::MAX } else { 1 << step.trailing_zeros().min(100) }
}

/// The least power of two above `x`.
fn next_power(x: i128) -> i128 {
    if x <= 0 { 1 } else { 1i128 << (128 - x.leading_zeros()) }
}
