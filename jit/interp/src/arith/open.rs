//! Float instructions with results that SPIR-V and GLSL.std.450 leave open.
//!
//! Such a result depends on the driver, and on what stands around the instruction: lavapipe's `inverseSqrt(-0.0)` is an
//! infinity in one kernel and none in another with the same instruction. Which NaN an instruction gives is open, too: processors pass on
//! the payload of one of the operands, and a compiler may swap these. The interpreter has one result for each, and
//! an alternative that shows whether anything depends on it.

use super::float::{rounded, value};
use super::{Binary, Num, Unary};

/// The usual NaN except for its sign and its last bit.
fn other_nan(num: Num) -> u64 {
    match num {
        Num::F16 => 0xfe01,
        Num::F64 => 0xfff8_0000_0000_0001,
        _ => 0xffc0_0001,
    }
}

/// What a result could be as well: anything where it `is_open`, another NaN where it is one, and itself otherwise.
fn other(num: Num, result: u64, is_open: bool) -> u64 {
    if !matches!(num, Num::F16 | Num::F32 | Num::F64) {
        return result;
    }
    match (value(num, result).is_nan(), is_open) {
        (true, true) => rounded(num, 1.0),
        (true, false) | (false, true) => other_nan(num),
        (false, false) => result,
    }
}

/// The result of an instruction with one operand, or another one where that is left open.
pub(in super::super) fn other_unary(op: Unary, num: Num, a: u64, result: u64) -> u64 {
    // These are of a float, and give none.
    if matches!(op, Unary::IsNan | Unary::IsInf | Unary::FrexpExponent) {
        return result;
    }
    other(num, result, is_open_unary(op, num, a))
}

/// Whether an argument lies outside of a function's domain.
pub(in super::super) fn is_open_unary(op: Unary, num: Num, a: u64) -> bool {
    let x = || value(num, a);
    match op {
        Unary::InverseSqrt | Unary::Log | Unary::Log2 => x() <= 0.0,
        Unary::Sqrt => x() < 0.0,
        Unary::Asin | Unary::Acos => x().abs() > 1.0,
        Unary::Acosh => x() < 1.0,
        Unary::Atanh => x().abs() >= 1.0,
        _ => false,
    }
}

/// The result of an instruction with two operands, or another one where that is left open.
pub(in super::super) fn other_binary(op: Binary, num: Num, a: u64, b: u64, result: u64) -> u64 {
    other(num, result, is_open_binary(op, num, a, b))
}

/// Whether two arguments lie outside of a function's domain.
pub(in super::super) fn is_open_binary(op: Binary, num: Num, a: u64, b: u64) -> bool {
    let (x, y) = (|| value(num, a), || value(num, b));
    match op {
        Binary::Atan2 => x() == 0.0 && y() == 0.0,
        Binary::Pow => x() < 0.0 || x() == 0.0 && y() <= 0.0,
        _ => false,
    }
}

/// The result of an instruction with three operands, or another one where that is left open.
pub(in super::super) fn other_ternary(num: Num, result: u64) -> u64 {
    other(num, result, false)
}

/// The float that a conversion gives, or another one where that is left open.
pub(in super::super) fn other_converted(to: Num, result: u64) -> u64 {
    other(to, result, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(x: f32) -> u64 {
        u64::from(x.to_bits())
    }

    #[test]
    fn only_what_is_open_has_another_result() {
        for (op, x, is_open) in [
            (Unary::InverseSqrt, -0.0, true),
            (Unary::InverseSqrt, 1e-30, false),
            (Unary::Sqrt, -1.0, true),
            (Unary::Sqrt, -0.0, false),
            (Unary::Log, 0.0, true),
            (Unary::Asin, 1.0, false),
            (Unary::Asin, -1.5, true),
            (Unary::Atanh, 1.0, true),
            (Unary::Acosh, 0.5, true),
            (Unary::Exp, -1.0, false),
            (Unary::Sqrt, f32::NAN, true),
            (Unary::FNeg, f32::NAN, true),
            (Unary::IsNan, f32::NAN, false),
            (Unary::FrexpExponent, 0.25, false),
        ] {
            let result = super::super::unary(op, Num::F32, f32s(x));
            assert_eq!(other_unary(op, Num::F32, f32s(x), result) != result, is_open, "{op:?} {x}");
        }
        for (op, x, y, is_open) in [
            (Binary::Pow, -2.0, 2.0, true),
            (Binary::Pow, 0.0, 0.0, true),
            (Binary::Pow, 0.0, 2.0, false),
            (Binary::Atan2, 0.0, -0.0, true),
            (Binary::Atan2, 0.0, 1.0, false),
            (Binary::FDiv, 0.0, 0.0, true),
            (Binary::FDiv, 1.0, 0.0, false),
        ] {
            let result = super::super::binary(op, Num::F32, f32s(x), f32s(y));
            let other = other_binary(op, Num::F32, f32s(x), f32s(y), result);
            assert_eq!(other != result, is_open, "{op:?} {x} {y}");
        }
        // An integer is none of this.
        assert_eq!(other_unary(Unary::Sqrt, Num::Int(32), u64::from(u32::MAX), 7), 7);
    }
}
