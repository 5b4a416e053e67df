//! Floats of three widths. Every operation is rounded once to its width, f16 by way of f64.
//!
//! `OpFRem` and `OpFMod` are computed as Vulkan derives their precision, `x - y * trunc(x / y)` and
//! `x - y * floor(x / y)`, which is what drivers run; transcendental functions are the host's.

use super::{Binary, Num, Unary, half};

/// Computes `$body`, an expression in `$x`, in the arithmetic of `$num`, and gives back lane bits.
macro_rules! in_float {
    ($num:expr, ($($x:ident = $bits:expr),+) => $body:expr) => {
        match $num {
            Num::F16 => {
                $(let $x = half::to_f64($bits as u16);)+
                u64::from(half::from_f64($body))
            }
            Num::F64 => {
                $(let $x = f64::from_bits($bits);)+
                f64::to_bits($body)
            }
            _ => {
                $(let $x = f32::from_bits($bits as u32);)+
                u64::from(f32::to_bits($body))
            }
        }
    };
}
pub(super) use in_float;

/// The value as f64, which is exact.
pub(in super::super) fn value(num: Num, bits: u64) -> f64 {
    match num {
        Num::F16 => half::to_f64(bits as u16),
        Num::F64 => f64::from_bits(bits),
        _ => f64::from(f32::from_bits(bits as u32)),
    }
}

/// Rounds to nearest even.
pub(super) fn rounded(num: Num, value: f64) -> u64 {
    match num {
        Num::F16 => u64::from(half::from_f64(value)),
        Num::F64 => value.to_bits(),
        _ => u64::from((value as f32).to_bits()),
    }
}

fn sign_bit(num: Num) -> u64 {
    1 << (num.bits() - 1)
}

pub(super) fn unary(op: Unary, num: Num, a: u64) -> u64 {
    match op {
        Unary::FNeg => a ^ sign_bit(num),
        Unary::FAbs => a & !sign_bit(num),
        Unary::FSign => {
            let x = value(num, a);
            if x > 0.0 {
                rounded(num, 1.0)
            } else if x < 0.0 {
                rounded(num, -1.0)
            } else {
                a
            }
        }
        Unary::IsNan => u64::from(value(num, a).is_nan()),
        Unary::IsInf => u64::from(value(num, a).is_infinite()),
        Unary::QuantizeToF16 => {
            let quantized = half::to_f64(half::from_f64(value(num, a)));
            // Subnormals of f16 become zero.
            let flushed = if quantized.abs() < 2f64.powi(-14) { 0f64.copysign(quantized) } else { quantized };
            rounded(num, flushed)
        }
        Unary::RoundEven => in_float!(num, (x = a) => x.round_ties_even()),
        Unary::Trunc => in_float!(num, (x = a) => x.trunc()),
        Unary::Floor => in_float!(num, (x = a) => x.floor()),
        Unary::Ceil => in_float!(num, (x = a) => x.ceil()),
        Unary::Fract => in_float!(num, (x = a) => x - x.floor()),
        Unary::Radians => in_float!(num, (x = a) => x.to_radians()),
        Unary::Degrees => in_float!(num, (x = a) => x.to_degrees()),
        Unary::Sin => in_float!(num, (x = a) => x.sin()),
        Unary::Cos => in_float!(num, (x = a) => x.cos()),
        Unary::Tan => in_float!(num, (x = a) => x.tan()),
        Unary::Asin => in_float!(num, (x = a) => x.asin()),
        Unary::Acos => in_float!(num, (x = a) => x.acos()),
        Unary::Atan => in_float!(num, (x = a) => x.atan()),
        Unary::Sinh => in_float!(num, (x = a) => x.sinh()),
        Unary::Cosh => in_float!(num, (x = a) => x.cosh()),
        Unary::Tanh => in_float!(num, (x = a) => x.tanh()),
        Unary::Asinh => in_float!(num, (x = a) => x.asinh()),
        Unary::Acosh => in_float!(num, (x = a) => x.acosh()),
        Unary::Atanh => in_float!(num, (x = a) => x.atanh()),
        Unary::Exp => in_float!(num, (x = a) => x.exp()),
        Unary::Log => in_float!(num, (x = a) => x.ln()),
        Unary::Exp2 => in_float!(num, (x = a) => x.exp2()),
        Unary::Log2 => in_float!(num, (x = a) => x.log2()),
        Unary::Sqrt => in_float!(num, (x = a) => x.sqrt()),
        Unary::InverseSqrt => in_float!(num, (x = a) => 1.0 / x.sqrt()),
        Unary::FrexpSignificand => rounded(num, frexp(value(num, a)).0),
        Unary::FrexpExponent => u64::from(frexp(value(num, a)).1 as u32),
        // No other operation is decoded with a float type.
        _ => 0,
    }
}

/// Significand in [0.5, 1) and exponent; zero, infinities and NaN come back with exponent 0.
fn frexp(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    // Subnormals are made normal first.
    let (x, bias) = if x.is_subnormal() { (x * 2f64.powi(64), -64) } else { (x, 0) };
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1022;
    let significand = f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1022 << 52);
    (significand, exponent + bias)
}

/// `x * 2^exponent`, rounded once.
fn ldexp(num: Num, x: f64, exponent: i32) -> u64 {
    // Three steps keep each power of two inside f64 for every exponent that does not saturate anyway.
    let exponent = exponent.clamp(-2200, 2200);
    let third = exponent / 3;
    rounded(num, x * 2f64.powi(third) * 2f64.powi(third) * 2f64.powi(exponent - 2 * third))
}

pub(super) fn binary(op: Binary, num: Num, a: u64, b: u64) -> u64 {
    let compare = |ordered: fn(f64, f64) -> bool, if_nan: bool| {
        let (x, y) = (value(num, a), value(num, b));
        u64::from(if x.is_nan() || y.is_nan() { if_nan } else { ordered(x, y) })
    };
    match op {
        Binary::FAdd => in_float!(num, (x = a, y = b) => x + y),
        Binary::FSub => in_float!(num, (x = a, y = b) => x - y),
        Binary::FMul => in_float!(num, (x = a, y = b) => x * y),
        Binary::FDiv => in_float!(num, (x = a, y = b) => x / y),
        Binary::FRem => {
            let whole = unary(Unary::Trunc, num, binary(Binary::FDiv, num, a, b));
            binary(Binary::FSub, num, a, binary(Binary::FMul, num, b, whole))
        }
        Binary::FMod => {
            let whole = unary(Unary::Floor, num, binary(Binary::FDiv, num, a, b));
            binary(Binary::FSub, num, a, binary(Binary::FMul, num, b, whole))
        }
        // One of the two as it is; the first of zeros and of two NaNs, the number of one and a NaN.
        Binary::FMin | Binary::FMax | Binary::NMin | Binary::NMax => {
            let (x, y) = (value(num, a), value(num, b));
            let second = if matches!(op, Binary::FMin | Binary::NMin) { y < x } else { x < y };
            if second || x.is_nan() { b } else { a }
        }
        Binary::Pow => in_float!(num, (x = a, y = b) => x.powf(y)),
        Binary::Atan2 => in_float!(num, (y = a, x = b) => y.atan2(x)),
        Binary::Step => in_float!(num, (edge = a, x = b) => if x < edge { 0.0 } else { 1.0 }),
        Binary::Ldexp => ldexp(num, value(num, a), b as u32 as i32),
        Binary::Modf => {
            in_float!(num, (x = a, whole = b) => if x.is_infinite() { 0.0 } else { x - whole }.copysign(x))
        }
        Binary::FOrdEqual => compare(|x, y| x == y, false),
        Binary::FUnordEqual => compare(|x, y| x == y, true),
        Binary::FOrdNotEqual => compare(|x, y| x != y, false),
        Binary::FUnordNotEqual => compare(|x, y| x != y, true),
        Binary::FOrdLess => compare(|x, y| x < y, false),
        Binary::FUnordLess => compare(|x, y| x < y, true),
        Binary::FOrdLessEqual => compare(|x, y| x <= y, false),
        Binary::FUnordLessEqual => compare(|x, y| x <= y, true),
        Binary::FOrdered => compare(|_, _| true, false),
        Binary::FUnordered => compare(|_, _| false, true),
        // No other operation is decoded with a float type.
        _ => 0,
    }
}
