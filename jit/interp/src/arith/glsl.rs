//! Operations of three operands, most of them from the GLSL extended instruction set.

use super::float::in_float;
use super::integer::bit_field_extract;
use super::{Binary, Num, Ternary, binary, half};

pub(in super::super) fn ternary(op: Ternary, num: Num, a: u64, b: u64, c: u64) -> u64 {
    match op {
        Ternary::Fma => in_float!(num, (x = a, y = b, z = c) => x.mul_add(y, z)),
        Ternary::FMix => {
            let one = in_float!(num, (_x = a) => 1.0);
            let keep = binary(Binary::FMul, num, a, binary(Binary::FSub, num, one, c));
            binary(Binary::FAdd, num, keep, binary(Binary::FMul, num, b, c))
        }
        Ternary::SmoothStep => in_float!(num, (low = a, high = b, x = c) => {
            let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        }),
        Ternary::FClamp => binary(Binary::FMin, num, binary(Binary::FMax, num, a, b), c),
        Ternary::NClamp => binary(Binary::NMin, num, binary(Binary::NMax, num, a, b), c),
        Ternary::UClamp => binary(Binary::UMin, num, binary(Binary::UMax, num, a, b), c),
        Ternary::SClamp => binary(Binary::SMin, num, binary(Binary::SMax, num, a, b), c),
        Ternary::BitFieldSExtract => bit_field_extract(true, num.bits(), a, b, c),
        Ternary::BitFieldUExtract => bit_field_extract(false, num.bits(), a, b, c),
    }
}
