//! Compares the bytes that two runs left in a buffer.

use crate::pipeline::ElementType;
use half::f16;

/// How two contents of one buffer differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Elements whose bytes differ.
    pub(crate) count: u64,
    /// The first of them.
    pub(crate) first: Option<u64>,
    /// Largest distance between two elements at the same index, in units in the last place;
    /// `None` for integers.
    pub(crate) max_ulp: Option<u64>,
    /// Elements that are NaNs in both, and not the same. SPIR-V leaves open which NaN a result is, so they are no difference.
    pub(crate) nans: u64,
}

impl Difference {
    /// Whether the bits are equal, except for the payloads of NaNs.
    pub(crate) fn is_equal(&self) -> bool {
        self.count == 0
    }

    /// This comparison and a later one together; `first` stays what it was if there is one.
    pub(crate) fn join(self, other: Difference) -> Difference {
        Difference {
            count: self.count.max(other.count),
            first: self.first.or(other.first),
            max_ulp: self.max_ulp.max(other.max_ulp),
            nans: self.nans.max(other.nans),
        }
    }
}

/// Compares two contents of a buffer of `ty`, element by element. An element that only one of
/// the two has counts as different.
pub(crate) fn compare(ty: ElementType, left: &[u8], right: &[u8]) -> Difference {
    let mut difference = Difference { count: 0, first: None, max_ulp: ty.is_float().then_some(0), nans: 0 };
    if left == right {
        return difference;
    }
    let size = ty.size();
    let pairs = left.chunks_exact(size).zip(right.chunks_exact(size));
    for (index, (a, b)) in pairs.enumerate().filter(|(_, (a, b))| a != b) {
        if is_nan(ty, a) && is_nan(ty, b) {
            difference.nans += 1;
            continue;
        }
        difference.count += 1;
        difference.first.get_or_insert(index as u64);
        difference.max_ulp = difference.max_ulp.max(ulp(ty, a, b));
    }
    let shorter = left.len().min(right.len()) / size;
    let missing = left.len().max(right.len()) / size - shorter;
    if missing > 0 {
        difference.count += missing as u64;
        difference.first.get_or_insert(shorter as u64);
    }
    difference
}

fn is_nan(ty: ElementType, bytes: &[u8]) -> bool {
    let infinity = match ty {
        ElementType::F16 => 0x7c00,
        ElementType::F32 => 0x7f80_0000,
        ElementType::F64 => 0x7ff0_0000_0000_0000,
        _ => return false,
    };
    line(ty, bytes).is_some_and(|point| point.abs() > infinity)
}

/// The distance of two floats on the line of all floats of their type; `None` for integers.
///
/// Neighbours are one apart, both zeros are the same point, and a NaN lies beyond infinity at a
/// distance that depends on its payload: a NaN against a number is always a large distance.
fn ulp(ty: ElementType, a: &[u8], b: &[u8]) -> Option<u64> {
    let distance = line(ty, a)?.abs_diff(line(ty, b)?);
    // Two points of the f64 line are less than 2^64 apart.
    u64::try_from(distance).ok()
}

fn line(ty: ElementType, bytes: &[u8]) -> Option<i128> {
    let (magnitude, negative) = match ty {
        ElementType::F16 => {
            let bits = f16::from_le_bytes(bytes.try_into().ok()?).to_bits();
            (i128::from(bits & 0x7fff), bits >> 15 != 0)
        }
        ElementType::F32 => {
            let bits = u32::from_le_bytes(bytes.try_into().ok()?);
            (i128::from(bits & (u32::MAX >> 1)), bits >> 31 != 0)
        }
        ElementType::F64 => {
            let bits = u64::from_le_bytes(bytes.try_into().ok()?);
            (i128::from(bits & (u64::MAX >> 1)), bits >> 63 != 0)
        }
        _ => return None,
    };
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn equal_bytes_are_equal_even_as_nan() {
        let bytes = floats(&[1.0, f32::NAN]);
        let difference = compare(ElementType::F32, &bytes, &bytes);
        assert!(difference.is_equal());
        assert_eq!((difference.first, difference.max_ulp), (None, Some(0)));
    }

    #[test]
    fn neighbours_are_one_apart_across_zero_too() {
        let next = f32::from_bits(1.0f32.to_bits() + 1);
        let difference = compare(ElementType::F32, &floats(&[0.0, 1.0]), &floats(&[0.0, next]));
        assert_eq!(difference, Difference { count: 1, first: Some(1), max_ulp: Some(1), nans: 0 });
        let tiny = f32::from_bits(1);
        let difference = compare(ElementType::F32, &floats(&[tiny]), &floats(&[-tiny]));
        assert_eq!(difference.max_ulp, Some(2));
    }

    #[test]
    fn the_two_zeros_differ_in_bits_and_not_in_distance() {
        let difference = compare(ElementType::F32, &floats(&[0.0]), &floats(&[-0.0]));
        assert_eq!(difference, Difference { count: 1, first: Some(0), max_ulp: Some(0), nans: 0 });
    }

    #[test]
    fn integers_have_no_ulp() {
        let difference = compare(ElementType::U16, &[1, 0, 2, 0], &[1, 0, 3, 0]);
        assert_eq!(difference, Difference { count: 1, first: Some(1), max_ulp: None, nans: 0 });
    }

    #[test]
    fn the_widest_distance_fits() {
        let low = (-f64::NAN.abs()).to_bits() | u64::MAX;
        let high = f64::INFINITY.to_bits();
        let difference = compare(ElementType::F64, &low.to_le_bytes(), &high.to_le_bytes());
        assert_eq!(difference.max_ulp, Some((u64::MAX >> 1) + high));
    }

    #[test]
    fn which_nan_it_is_is_no_difference() {
        for (ty, nans, number) in [
            (ElementType::F16, [0x7e00_u64, 0xfe01], 0x7c00_u64),
            (ElementType::F32, [0x7fc0_0000, 0xffc0_0001], 0x7f80_0000),
            (ElementType::F64, [0x7ff8 << 48, 0xfff8 << 48], 0x7ff0 << 48),
        ] {
            let bytes = |word: u64| word.to_le_bytes()[..ty.size()].to_vec();
            let difference = compare(ty, &bytes(nans[0]), &bytes(nans[1]));
            assert!(difference.is_equal());
            assert_eq!((difference.nans, difference.first), (1, None));
            assert!(!compare(ty, &bytes(nans[0]), &bytes(number)).is_equal(), "an infinity is a number");
        }
        // Integers have none.
        assert!(!compare(ElementType::U32, &[0, 0, 0xc0, 0x7f], &[1, 0, 0xc0, 0x7f]).is_equal());
    }
}
