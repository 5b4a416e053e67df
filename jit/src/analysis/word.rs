//! Machine words as exact integers, and when that is allowed.

use super::affine::Affine;

/// A word: the form it is congruent to, and the form's range.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) form: Affine,
    pub(super) low: i128,
    pub(super) high: i128,
}

impl Value {
    /// The number, if it is one.
    pub(super) fn constant(&self) -> Option<i128> {
        self.form.terms.is_empty().then_some(self.form.constant)
    }
}

/// The form as the number an unsigned reading of the word gives.
pub(super) fn as_unsigned(value: &Value, width: u8) -> Option<Value> {
    shifted(value, width, 0)
}

/// The form as the number a signed reading of the word gives.
pub(super) fn as_signed(value: &Value, width: u8) -> Option<Value> {
    shifted(value, width, -(1i128 << (width - 1)))
}

/// Moves the form by a multiple of 2^width into `start .. start + 2^width`, if one multiple does for
/// all of its range.
fn shifted(value: &Value, width: u8, start: i128) -> Option<Value> {
    let period = 1i128 << width;
    let shift = value.low.checked_sub(start)?.div_euclid(period).checked_mul(period)?;
    let high = value.high.checked_sub(shift)?;
    if high >= start + period && !mutant!(NoWrap) {
        return None;
    }
    let mut form = value.form.clone();
    form.constant = form.constant.checked_sub(shift)?;
    Some(Value { form, low: value.low - shift, high })
}
