//! What a buffer holds at places that indices and conditions depend on, as far as the host knows.

use std::sync::Arc;

/// What a range holds at some places: the scalars there, by ascending offset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Numbers(Arc<[Number]>);

/// A scalar in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number {
    /// Where, counted from the start of the range.
    pub offset: u32,
    /// Width in bits: 8, 16, 32 or 64.
    pub width: u8,
    /// Its bits.
    pub value: u64,
}

impl Numbers {
    /// The numbers at the places, by offset and width in bits, that lie within the bytes; nothing where none does.
    pub fn of(places: impl IntoIterator<Item = (u32, u8)>, bytes: &[u8]) -> Option<Self> {
        let number = |(offset, width): (u32, u8)| {
            let bytes = bytes.get(offset as usize..)?.get(..usize::from(width / 8))?;
            let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            Some(Number { offset, width, value })
        };
        let mut numbers: Vec<Number> = places.into_iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        (!numbers.is_empty()).then(|| Self(numbers.into()))
    }

    /// The bits of the scalar at a place.
    pub fn get(&self, offset: u32, width: u8) -> Option<u64> {
        let at =
            self.0.binary_search_by_key(&(offset, width), |number| (number.offset, number.width)).ok()?;
        Some(self.0[at].value)
    }

    /// All of them, by ascending offset.
    pub fn iter(&self) -> impl Iterator<Item = Number> + '_ {
        self.0.iter().copied()
    }

    /// Whether the bytes hold the same.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        let places = self.iter().map(|number| (number.offset, number.width));
        Self::of(places, bytes).as_ref() == Some(self)
    }

    /// The same places with other numbers.
    pub fn map(&self, value: impl Fn(Number) -> u64) -> Self {
        Self(self.iter().map(|number| Number { value: value(number), ..number }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_of_the_bytes_are_not_known() {
        let bytes = [1, 0, 0, 0, 0xff, 0xff, 7];
        let numbers = Numbers::of([(4, 16), (0, 32), (0, 32), (4, 32)], &bytes).expect("some are inside");
        assert_eq!((numbers.get(0, 32), numbers.get(4, 16)), (Some(1), Some(0xffff)));
        assert_eq!((numbers.get(4, 32), numbers.get(0, 16)), (None, None));
        assert_eq!(numbers.iter().count(), 2);
        assert_eq!(Numbers::of([(8, 8)], &bytes), None);
    }

    #[test]
    fn numbers_are_in_bytes_that_differ_elsewhere_only() {
        let numbers = Numbers::of([(2, 16)], &[9, 9, 5, 0]).expect("inside");
        assert!(numbers.are_in(&[1, 2, 5, 0, 3]));
        assert!(!numbers.are_in(&[9, 9, 5, 1]));
        assert!(!numbers.are_in(&[9, 9, 5]));
    }
}
