//! 16-bit floats. All of them are exact in f64, where their arithmetic is done: for `+ - * /`, square
//! root and fused multiply-add one rounding to f64 and one to f16 give the correctly rounded f16, as
//! 53 bits are enough (for `fma` because the product of two f16 has only 22).

pub(crate) fn to_f64(bits: u16) -> f64 {
    let sign = u64::from(bits >> 15) << 63;
    let exponent = u64::from(bits >> 10 & 0x1f);
    let fraction = u64::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => (fraction as f64 * 2f64.powi(-24)).to_bits(),
        0x1f => 0x7ff << 52 | fraction << 42,
        _ => (exponent + 1023 - 15) << 52 | fraction << 42,
    };
    f64::from_bits(sign | magnitude)
}

/// Rounds to nearest even.
pub(crate) fn from_f64(value: f64) -> u16 {
    let sign = (value.to_bits() >> 48) as u16 & 0x8000;
    let value = value.abs();
    if value.is_nan() {
        // Keep the upper payload bits, and stay a NaN.
        return sign | 0x7c00 | 0x200 | (value.to_bits() >> 42 & 0x3ff) as u16;
    }
    if value >= 65520.0 {
        return sign | 0x7c00;
    }
    let exponent = (value.to_bits() >> 52) as i32 - 1023;
    // Weight of the last bit of the result; subnormals share that of the smallest normal numbers.
    let last_place = (exponent - 10).max(-24);
    let units = (value * 2f64.powi(-last_place)).round_ties_even() as u32;
    // The leading bit of `units`, 1024, adds one to the exponent, and a carry to 2048 one more.
    sign | ((((last_place + 24) as u32) << 10) + units) as u16
}

#[cfg(test)]
mod tests {
    use super::{from_f64, to_f64};

    #[test]
    fn every_f16_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            let value = to_f64(bits);
            if value.is_nan() {
                assert!(to_f64(from_f64(value)).is_nan());
            } else {
                assert_eq!(from_f64(value), bits, "{value}");
            }
        }
    }

    #[test]
    fn halfway_cases_round_to_even() {
        for bits in 0..0x7bffu16 {
            let (low, high) = (to_f64(bits), to_f64(bits + 1));
            let middle = (low + high) / 2.0;
            let even = if bits % 2 == 0 { bits } else { bits + 1 };
            assert_eq!(from_f64(middle), even);
            assert_eq!(from_f64(middle.next_down()), bits);
            assert_eq!(from_f64(middle.next_up()), bits + 1);
        }
        assert_eq!(from_f64(65519.999), 0x7bff);
        assert_eq!(from_f64(65520.0), 0x7c00);
        assert_eq!(from_f64(2f64.powi(-25)), 0);
        assert_eq!(from_f64(2f64.powi(-25).next_up()), 1);
    }
}
