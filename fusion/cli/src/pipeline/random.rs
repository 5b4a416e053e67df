//! The random numbers of `init = "random"`.
//!
//! Element `i` depends on the seed, the type and `i` alone: the same file gives
//! the same bytes in every run, on every machine, and whatever the length of the
//! buffer. Element `i` is output number `i` of SplitMix64 (Steele, Lea and Flood,
//! "Fast splittable pseudorandom number generators", 2014):
//!
//! ```text
//! z = seed + (i + 1) * 0x9e3779b97f4a7c15          (all arithmetic modulo 2^64)
//! z = (z xor (z >> 30)) * 0xbf58476d1ce4e5b9
//! z = (z xor (z >> 27)) * 0x94d049bb133111eb
//! z =  z xor (z >> 31)
//! ```
//!
//! | type | element |
//! | --- | --- |
//! | f64 | `(z >> 11) * 2^-52 - 1` |
//! | f32 | `(z >> 40) * 2^-23 - 1` |
//! | f16 | `(z >> 53) * 2^-10 - 1` |
//! | integer of `n` bits | the high `n` bits of `z` |
//!
//! Each float is exactly representable, so no rounding is involved.

use super::element::{ElementBytes, ElementType};
use half::f16;
use smallvec::SmallVec;

// Powers of two as quotients of integers: exact everywhere, which `exp2` does not promise.
const F64_STEP: f64 = 1.0 / (1u64 << 52) as f64;
const F32_STEP: f32 = 1.0 / (1u32 << 23) as f32;
const F16_STEP: f32 = 1.0 / (1u32 << 10) as f32;

/// Output number `index` of SplitMix64 seeded with `seed`.
pub(crate) fn splitmix64(seed: u64, index: u64) -> u64 {
    let step = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut z = seed.wrapping_add(step);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Element `index` of a random buffer.
pub(crate) fn element(ty: ElementType, seed: u64, index: u64) -> ElementBytes {
    let z = splitmix64(seed, index);
    match ty {
        ElementType::F64 => bytes(&((z >> 11) as f64 * F64_STEP - 1.0).to_le_bytes()),
        ElementType::F32 => bytes(&((z >> 40) as f32 * F32_STEP - 1.0).to_le_bytes()),
        ElementType::F16 => {
            let value = (z >> 53) as f32 * F16_STEP - 1.0;
            bytes(&f16::from_f32(value).to_le_bytes())
        }
        _ => {
            let size = ty.size();
            bytes(&z.to_le_bytes()[8 - size..])
        }
    }
}

fn bytes(bytes: &[u8]) -> ElementBytes {
    SmallVec::from_slice(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_sequence() {
        // The first outputs of SplitMix64 for seed 1234567, as published with the generator's
        // reference implementation.
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for (index, expected) in expected.into_iter().enumerate() {
            assert_eq!(splitmix64(1_234_567, index as u64), expected);
        }
    }

    #[test]
    fn starts_as_the_documentation_says() {
        let expected = [-0.220_340_61_f32, -0.966_423_5, 0.801_521_3, 0.165_860_53];
        for (index, expected) in expected.into_iter().enumerate() {
            let found = element(ElementType::F32, 7, index as u64);
            assert_eq!(found[..], expected.to_le_bytes());
        }
    }

    #[test]
    fn floats_lie_in_the_half_open_interval() {
        for index in 0..10_000 {
            let single =
                f32::from_le_bytes(element(ElementType::F32, 7, index)[..].try_into().unwrap_or([0; 4]));
            assert!((-1.0..1.0).contains(&single));
            let half =
                f16::from_le_bytes(element(ElementType::F16, 7, index)[..].try_into().unwrap_or([0; 2]));
            assert!((-1.0..1.0).contains(&half.to_f32()));
            let double =
                f64::from_le_bytes(element(ElementType::F64, 7, index)[..].try_into().unwrap_or([0; 8]));
            assert!((-1.0..1.0).contains(&double));
        }
    }

    #[test]
    fn integers_are_the_high_bits() {
        let z = splitmix64(3, 0);
        assert_eq!(element(ElementType::U64, 3, 0)[..], z.to_le_bytes());
        assert_eq!(element(ElementType::U8, 3, 0)[..], [(z >> 56) as u8]);
        assert_eq!(element(ElementType::I16, 3, 0)[..], ((z >> 48) as u16).to_le_bytes());
    }
}
