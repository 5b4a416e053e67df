//! Operations on words of 32 bits whose operands are known.

use rspirv::spirv::Op;

/// The result of an operation on words; truths are 0 or 1.
pub(crate) fn fold(op: Op, numbers: &[u32]) -> Option<u32> {
    let signed = |n: u32| n as i32;
    Some(match (op, numbers) {
        (Op::IAdd, &[a, b]) => a.wrapping_add(b),
        (Op::ISub, &[a, b]) => a.wrapping_sub(b),
        (Op::IMul, &[a, b]) => a.wrapping_mul(b),
        (Op::UDiv, &[a, b]) => a.checked_div(b)?,
        (Op::UMod, &[a, b]) => a.checked_rem(b)?,
        (Op::ShiftRightLogical, &[a, b]) => a.checked_shr(b)?,
        (Op::ShiftLeftLogical, &[a, b]) => a.checked_shl(b)?,
        (Op::BitwiseAnd, &[a, b]) => a & b,
        (Op::BitwiseOr, &[a, b]) => a | b,
        (Op::BitwiseXor, &[a, b]) => a ^ b,
        (Op::Not, &[a]) => !a,
        (Op::IEqual | Op::LogicalEqual, &[a, b]) => u32::from(a == b),
        (Op::INotEqual | Op::LogicalNotEqual, &[a, b]) => u32::from(a != b),
        (Op::ULessThan, &[a, b]) => u32::from(a < b),
        (Op::ULessThanEqual, &[a, b]) => u32::from(a <= b),
        (Op::UGreaterThan, &[a, b]) => u32::from(a > b),
        (Op::UGreaterThanEqual, &[a, b]) => u32::from(a >= b),
        (Op::SLessThan, &[a, b]) => u32::from(signed(a) < signed(b)),
        (Op::SLessThanEqual, &[a, b]) => u32::from(signed(a) <= signed(b)),
        (Op::SGreaterThan, &[a, b]) => u32::from(signed(a) > signed(b)),
        (Op::SGreaterThanEqual, &[a, b]) => u32::from(signed(a) >= signed(b)),
        (Op::LogicalAnd, &[a, b]) => a & b,
        (Op::LogicalOr, &[a, b]) => a | b,
        (Op::LogicalNot, &[a]) => 1 - a.min(1),
        (Op::Select, &[c, a, b]) => {
            if c != 0 {
                a
            } else {
                b
            }
        }
        _ => return None,
    })
}
