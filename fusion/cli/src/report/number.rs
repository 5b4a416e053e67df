//! One element of a buffer as a number in a report.

use crate::pipeline::ElementType;
use half::f16;
use serde::{Serialize, Serializer};
use std::fmt;

/// One element. Floats keep their own precision when printed: the shortest text that reads back
/// as the same value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Single(f32),
    Double(f64),
    Signed(i64),
    Unsigned(u64),
}

impl Number {
    /// The element in `bytes`, which has the size of `ty`; zero if it does not.
    pub(crate) fn from_bytes(ty: ElementType, bytes: &[u8]) -> Number {
        let mut wide = [0; 8];
        let size = bytes.len().min(8);
        wide[..size].copy_from_slice(&bytes[..size]);
        let bits = u64::from_le_bytes(wide);
        match ty {
            // Every f16 is an f32.
            ElementType::F16 => Number::Single(f16::from_bits(bits as u16).to_f32()),
            ElementType::F32 => Number::Single(f32::from_bits(bits as u32)),
            ElementType::F64 => Number::Double(f64::from_bits(bits)),
            ElementType::I8 => Number::Signed((bits as i8).into()),
            ElementType::I16 => Number::Signed((bits as i16).into()),
            ElementType::I32 => Number::Signed((bits as i32).into()),
            ElementType::I64 => Number::Signed(bits as i64),
            ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => {
                Number::Unsigned(bits)
            }
        }
    }

    /// The first `count` elements of `bytes`.
    pub(crate) fn head(ty: ElementType, bytes: &[u8], count: usize) -> Vec<Number> {
        let elements = bytes.chunks_exact(ty.size()).take(count);
        elements.map(|element| Number::from_bytes(ty, element)).collect()
    }

    /// JSON has no word for these: they are written as strings, in TOML's spelling.
    fn special(self) -> Option<&'static str> {
        let value = match self {
            Number::Single(value) => f64::from(value),
            Number::Double(value) => value,
            Number::Signed(_) | Number::Unsigned(_) => return None,
        };
        if value.is_nan() {
            Some("nan")
        } else if value.is_infinite() {
            Some(if value > 0.0 { "inf" } else { "-inf" })
        } else {
            None
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(word) = self.special() {
            return serializer.serialize_str(word);
        }
        match self {
            Number::Single(value) => serializer.serialize_f32(*value),
            Number::Double(value) => serializer.serialize_f64(*value),
            Number::Signed(value) => serializer.serialize_i64(*value),
            Number::Unsigned(value) => serializer.serialize_u64(*value),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(word) = self.special() {
            return f.write_str(word);
        }
        match self {
            Number::Single(value) => f.write_str(shortest(&format!("{value:?}"))),
            Number::Double(value) => f.write_str(shortest(&format!("{value:?}"))),
            Number::Signed(value) => write!(f, "{value}"),
            Number::Unsigned(value) => write!(f, "{value}"),
        }
    }
}

/// `1` of `1.0`: what a float is printed as for people. Very small and very large ones have exponents.
fn shortest(float: &str) -> &str {
    float.strip_suffix(".0").unwrap_or(float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_printed_in_as_few_characters_as_read_back() {
        let single = |value: f32| Number::from_bytes(ElementType::F32, &value.to_le_bytes()).to_string();
        let shown = [1.4641e-20, 1e30, -3.5e-7, 0.1, 1.0, -0.0, 65536.0, 16777216.0].map(single);
        assert_eq!(shown, ["1.4641e-20", "1e30", "-3.5e-7", "0.1", "1", "-0", "65536", "16777216"]);
        for value in [f32::MIN_POSITIVE, f32::MAX, f32::from_bits(1), 1.0 / 3.0, 123456.79] {
            assert_eq!(single(value).parse(), Ok(value));
        }
        let double = Number::from_bytes(ElementType::F64, &f64::MIN_POSITIVE.to_le_bytes()).to_string();
        assert_eq!(double, "2.2250738585072014e-308");
    }

    fn json(ty: ElementType, bytes: &[u8]) -> String {
        serde_json::to_string(&Number::from_bytes(ty, bytes)).unwrap_or_default()
    }

    #[test]
    fn floats_keep_their_precision_and_integers_their_range() {
        assert_eq!(json(ElementType::F32, &0.1f32.to_le_bytes()), "0.1");
        assert_eq!(json(ElementType::F64, &0.1f64.to_le_bytes()), "0.1");
        assert_eq!(json(ElementType::F16, &f16::from_f32(0.5).to_le_bytes()), "0.5");
        assert_eq!(json(ElementType::U64, &u64::MAX.to_le_bytes()), "18446744073709551615");
        assert_eq!(json(ElementType::I8, &[0xff]), "-1");
    }

    #[test]
    fn what_json_cannot_say_is_a_string() {
        assert_eq!(json(ElementType::F32, &f32::NAN.to_le_bytes()), "\"nan\"");
        assert_eq!(json(ElementType::F64, &f64::NEG_INFINITY.to_le_bytes()), "\"-inf\"");
        assert_eq!(json(ElementType::F16, &f16::INFINITY.to_le_bytes()), "\"inf\"");
    }
}
