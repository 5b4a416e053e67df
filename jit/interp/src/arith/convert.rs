//! Conversions between scalar types. Floats to integers truncate and saturate (Vulkan leaves values out
//! of range undefined); everything else rounds to nearest even.

use super::{Num, float, mask, sign_extend};

pub(in super::super) fn convert(from: Num, to: Num, a: u64) -> u64 {
    match (from, to) {
        (Num::Bool | Num::Int(_), Num::Bool | Num::Int(_) | Num::Signed(_)) => a & to.mask(),
        (Num::Signed(bits), Num::Bool | Num::Int(_) | Num::Signed(_)) => {
            sign_extend(a, u32::from(bits)) as u64 & to.mask()
        }
        // Straight from the integer: by way of f64 it would be rounded twice.
        (Num::Bool | Num::Int(_), Num::F32) => u64::from((a as f32).to_bits()),
        (Num::Signed(bits), Num::F32) => u64::from((sign_extend(a, u32::from(bits)) as f32).to_bits()),
        (Num::Bool | Num::Int(_), _) => float::rounded(to, a as f64),
        (Num::Signed(bits), _) => float::rounded(to, sign_extend(a, u32::from(bits)) as f64),
        (_, Num::Signed(bits)) => {
            let limit = mask(u32::from(bits) - 1) as i64;
            (float::value(from, a) as i64).clamp(-limit - 1, limit) as u64 & to.mask()
        }
        (_, Num::Bool | Num::Int(_)) => (float::value(from, a) as u64).min(to.mask()),
        _ => float::rounded(to, float::value(from, a)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_round_to_floats_once() {
        let value = (1u64 << 54) + (1 << 30) + 1;
        assert_eq!(convert(Num::Int(64), Num::F32, value), u64::from((value as f32).to_bits()));
        assert_eq!(convert(Num::Int(32), Num::F16, 70000), 0x7c00);
    }

    #[test]
    fn floats_saturate_to_integers() {
        let lane = |x: f32| u64::from(x.to_bits());
        assert_eq!(convert(Num::F32, Num::Int(8), lane(300.0)), 255);
        assert_eq!(convert(Num::F32, Num::Int(32), lane(-1.0)), 0);
        assert_eq!(convert(Num::F32, Num::Signed(32), lane(-1.5)), 0xffff_ffff);
        assert_eq!(convert(Num::F32, Num::Signed(16), lane(-1e9)), 0x8000);
        assert_eq!(convert(Num::F32, Num::Signed(64), lane(f32::NAN)), 0);
    }
}
