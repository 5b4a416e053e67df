//! Integers of any width up to 64 bits, and Booleans as integers of one bit. All arithmetic wraps.

use super::{Binary, Unary, Wide, mask, sign_extend};

pub(super) fn unary(op: Unary, bits: u32, a: u64) -> u64 {
    let signed = sign_extend(a, bits);
    let result = match op {
        Unary::Neg => a.wrapping_neg(),
        Unary::Not => !a,
        Unary::LogicalNot => a ^ 1,
        Unary::Abs => signed.wrapping_abs() as u64,
        Unary::Sign => signed.signum() as u64,
        Unary::BitReverse => a.reverse_bits() >> (64 - bits),
        Unary::BitCount => u64::from(a.count_ones()),
        Unary::FindILsb => lowest(a),
        Unary::FindUMsb => highest(a),
        Unary::FindSMsb => highest(if signed < 0 { !signed as u64 } else { a }),
        // No other operation is decoded with an integer type.
        _ => 0,
    };
    result & mask(bits)
}

/// Position of the lowest set bit, or -1.
fn lowest(a: u64) -> u64 {
    if a == 0 { u64::MAX } else { u64::from(a.trailing_zeros()) }
}

/// Position of the highest set bit, or -1.
fn highest(a: u64) -> u64 {
    if a == 0 { u64::MAX } else { u64::from(63 - a.leading_zeros()) }
}

pub(super) fn binary(op: Binary, bits: u32, a: u64, b: u64) -> u64 {
    let sa = || sign_extend(a, bits);
    let sb = || sign_extend(b, bits);
    let count = || (b % u64::from(bits)) as u32;
    let result = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::UDiv => a.checked_div(b).unwrap_or(0),
        Binary::UMod => a.checked_rem(b).unwrap_or(0),
        Binary::SDiv if b == 0 => 0,
        Binary::SDiv => sa().wrapping_div(sb()) as u64,
        Binary::SRem if b == 0 => 0,
        Binary::SRem => sa().wrapping_rem(sb()) as u64,
        Binary::SMod if b == 0 => 0,
        Binary::SMod => {
            let rest = sa().wrapping_rem(sb());
            if rest != 0 && (rest < 0) != (sb() < 0) { rest.wrapping_add(sb()) as u64 } else { rest as u64 }
        }
        Binary::Shl => a << count(),
        Binary::Shr => a >> count(),
        Binary::Sar => (sa() >> count()) as u64,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::UMin => a.min(b),
        Binary::UMax => a.max(b),
        Binary::SMin => sa().min(sb()) as u64,
        Binary::SMax => sa().max(sb()) as u64,
        Binary::Equal => return u64::from(a == b),
        Binary::NotEqual => return u64::from(a != b),
        Binary::ULess => return u64::from(a < b),
        Binary::ULessEqual => return u64::from(a <= b),
        Binary::SLess => return u64::from(sa() < sb()),
        Binary::SLessEqual => return u64::from(sa() <= sb()),
        // No other operation is decoded with an integer type.
        _ => 0,
    };
    result & mask(bits)
}

pub(in super::super) fn wide(op: Wide, bits: u32, a: u64, b: u64) -> (u64, u64) {
    let mask = mask(bits);
    match op {
        Wide::AddCarry => {
            let sum = u128::from(a) + u128::from(b);
            (sum as u64 & mask, (sum >> bits) as u64)
        }
        Wide::SubBorrow => (a.wrapping_sub(b) & mask, u64::from(a < b)),
        Wide::UMulExtended => {
            let product = u128::from(a) * u128::from(b);
            (product as u64 & mask, (product >> bits) as u64 & mask)
        }
        Wide::SMulExtended => {
            let product = i128::from(sign_extend(a, bits)) * i128::from(sign_extend(b, bits));
            (product as u64 & mask, (product >> bits) as u64 & mask)
        }
    }
}

/// `count` bits of `insert` put into `base` at `offset`.
pub(in super::super) fn bit_field_insert(base: u64, insert: u64, offset: u64, count: u64) -> u64 {
    let field = mask(count.min(64) as u32).checked_shl(offset.min(64) as u32).unwrap_or(0);
    base & !field | insert.checked_shl(offset.min(64) as u32).unwrap_or(0) & field
}

pub(super) fn bit_field_extract(signed: bool, bits: u32, a: u64, offset: u64, count: u64) -> u64 {
    let count = count.min(64) as u32;
    if count == 0 {
        return 0;
    }
    let field = a.checked_shr(offset.min(64) as u32).unwrap_or(0) & mask(count);
    if signed { sign_extend(field, count) as u64 & mask(bits) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_remainder_takes_the_sign_of_the_dividend_and_modulo_that_of_the_divisor() {
        let minus = |v: i64| v as u64 & mask(32);
        assert_eq!(binary(Binary::SRem, 32, minus(-7), 3), minus(-1));
        assert_eq!(binary(Binary::SMod, 32, minus(-7), 3), 2);
        assert_eq!(binary(Binary::SMod, 32, 7, minus(-3)), minus(-2));
    }

    #[test]
    fn arithmetic_wraps_at_its_width() {
        assert_eq!(binary(Binary::Add, 8, 255, 1), 0);
        assert_eq!(binary(Binary::Sub, 16, 0, 1), 0xffff);
        assert_eq!(binary(Binary::SDiv, 32, 0x8000_0000, 0xffff_ffff), 0x8000_0000);
        assert_eq!(binary(Binary::Sar, 8, 0x80, 7), 0xff);
        assert_eq!(unary(Unary::FindSMsb, 32, 0xffff_ffff), 0xffff_ffff);
    }

    #[test]
    fn bit_fields_may_fill_the_word_or_be_empty() {
        assert_eq!(bit_field_insert(0xffff_ffff, 0, 4, 8), 0xffff_f00f);
        assert_eq!(bit_field_insert(7, 9, 0, 0), 7);
        assert_eq!(bit_field_extract(true, 32, 0xf0, 4, 4), 0xffff_ffff);
        assert_eq!(bit_field_extract(false, 32, 0xdead_beef, 0, 32), 0xdead_beef);
    }
}
