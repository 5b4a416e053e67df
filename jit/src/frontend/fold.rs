//! Evaluates one scalar component of an `OpSpecConstantOp`.
//!
//! Only what SPIR-V allows there for shaders: integer and logical operations and width conversions.
//! Division by zero, and shifts by the width or more, have no defined result in SPIR-V; both give zero
//! here, so that a fused and an unfused run agree.

use rspirv::spirv::Op;

use super::value::{Type, sign_extend, truncate};

/// Bits in, bits out. `operand` is the scalar type of the operands, `result` that of the result.
/// `None` if the operation is not one that can be specialised.
pub(super) fn scalar(op: Op, operand: &Type, result: &Type, args: &[u64]) -> Option<u64> {
    let width = width(operand);
    let a = *args.first()?;
    if let Some(value) = unary(op, operand, result, a) {
        return Some(value);
    }
    let b = *args.get(1)?;
    let (sa, sb) = (sign_extend(a, width), sign_extend(b, width));
    let value = match op {
        Op::IAdd => a.wrapping_add(b),
        Op::ISub => a.wrapping_sub(b),
        Op::IMul => a.wrapping_mul(b),
        Op::UDiv => a.checked_div(b).unwrap_or(0),
        Op::UMod => a.checked_rem(b).unwrap_or(0),
        Op::SDiv if sb == 0 => 0,
        Op::SDiv => sa.wrapping_div(sb) as u64,
        Op::SRem | Op::SMod if sb == 0 => 0,
        Op::SRem => sa.wrapping_rem(sb) as u64,
        Op::SMod => {
            let rem = sa.wrapping_rem(sb);
            let other_sign = rem != 0 && (rem < 0) != (sb < 0);
            (if other_sign { rem.wrapping_add(sb) } else { rem }) as u64
        }
        Op::ShiftRightLogical | Op::ShiftRightArithmetic | Op::ShiftLeftLogical if b >= u64::from(width) => 0,
        Op::ShiftRightLogical => a >> b,
        Op::ShiftRightArithmetic => (sa >> b) as u64,
        Op::ShiftLeftLogical => a << b,
        Op::BitwiseOr | Op::LogicalOr => a | b,
        Op::BitwiseXor => a ^ b,
        Op::BitwiseAnd | Op::LogicalAnd => a & b,
        Op::IEqual | Op::LogicalEqual => u64::from(a == b),
        Op::INotEqual | Op::LogicalNotEqual => u64::from(a != b),
        Op::ULessThan => u64::from(a < b),
        Op::UGreaterThan => u64::from(a > b),
        Op::ULessThanEqual => u64::from(a <= b),
        Op::UGreaterThanEqual => u64::from(a >= b),
        Op::SLessThan => u64::from(sa < sb),
        Op::SGreaterThan => u64::from(sa > sb),
        Op::SLessThanEqual => u64::from(sa <= sb),
        Op::SGreaterThanEqual => u64::from(sa >= sb),
        _ => return None,
    };
    Some(truncate(value, self::width(result)))
}

fn unary(op: Op, operand: &Type, result: &Type, a: u64) -> Option<u64> {
    let value = match op {
        Op::SNegate => a.wrapping_neg(),
        Op::Not => !a,
        Op::LogicalNot => a ^ 1,
        Op::UConvert => a,
        Op::SConvert => sign_extend(a, width(operand)) as u64,
        Op::FConvert => {
            return Some(match (width(operand), width(result)) {
                (from, to) if from == to => a,
                (16, 32) => u64::from(f16_to_f32(a as u16).to_bits()),
                (16, 64) => f64::from(f16_to_f32(a as u16)).to_bits(),
                (32, 16) => u64::from(f64_to_f16(f64::from(f32::from_bits(a as u32)))),
                (32, 64) => f64::from(f32::from_bits(a as u32)).to_bits(),
                (64, 16) => u64::from(f64_to_f16(f64::from_bits(a))),
                (64, 32) => u64::from((f64::from_bits(a) as f32).to_bits()),
                _ => return None,
            });
        }
        Op::QuantizeToF16 => {
            let half = f64_to_f16(f64::from(f32::from_bits(a as u32)));
            // Subnormal halves become zero of the same sign, by the definition of the operation.
            let half = if half & 0x7c00 == 0 { half & 0x8000 } else { half };
            return Some(u64::from(f16_to_f32(half).to_bits()));
        }
        _ => return None,
    };
    Some(truncate(value, width(result)))
}

fn width(ty: &Type) -> u32 {
    match ty {
        Type::Int { width, .. } | Type::Float { width } => *width,
        _ => 1,
    }
}

fn f16_to_f32(half: u16) -> f32 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from((half >> 10) & 0x1f);
    let fraction = f32::from(half & 0x3ff);
    match exponent {
        0 => sign * fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

/// Rounds to the nearest half, ties to even.
fn f64_to_f16(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    if value.is_nan() {
        return sign | 0x7e00;
    }
    let magnitude = value.abs();
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // The distance between neighbouring halves around the value; below 2^-14 it stays 2^-24.
    let biased = ((magnitude.to_bits() >> 52) & 0x7ff) as i32;
    let exponent = (biased - 1023).max(-14);
    let steps = (magnitude * 2f64.powi(10 - exponent)).round_ties_even() as u32;
    // A carry out of the fraction lands in the exponent, as it must.
    sign | (steps + (((exponent + 14) as u32) << 10)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const I32: Type = Type::Int { width: 32, signed: true };

    fn int(op: Op, a: i32, b: i32) -> i32 {
        let args = [u64::from(a as u32), u64::from(b as u32)];
        scalar(op, &I32, &I32, &args).expect("known operation") as u32 as i32
    }

    #[test]
    fn division_by_zero_gives_zero() {
        for op in [Op::UDiv, Op::SDiv, Op::UMod, Op::SRem, Op::SMod] {
            assert_eq!(int(op, 7, 0), 0);
        }
        assert_eq!(int(Op::SDiv, i32::MIN, -1), i32::MIN);
        assert_eq!(int(Op::ShiftLeftLogical, 1, 40), 0);
    }

    #[test]
    fn remainder_takes_the_sign_spirv_says() {
        assert_eq!(int(Op::SRem, -7, 3), -1);
        assert_eq!(int(Op::SMod, -7, 3), 2);
        assert_eq!(int(Op::SMod, 7, -3), -2);
    }

    #[test]
    fn half_conversion_rounds_to_even() {
        for (value, half) in [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (65504.0, 0x7bff),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (2f64.powi(-24), 1),
            (2f64.powi(-25), 0),
            (3.0 * 2f64.powi(-25), 2),
            (2f64.powi(-14), 0x400),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (2.0 - 1.0 / 4096.0, 0x4000),
        ] {
            assert_eq!(f64_to_f16(value), half, "{value}");
        }
        for half in 0..0x7c00u16 {
            assert_eq!(f64_to_f16(f64::from(f16_to_f32(half))), half);
        }
    }
}
