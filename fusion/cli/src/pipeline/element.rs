//! Element types of buffers, push constants and specialization constants, and
//! how a number in the file becomes the bytes of one element.

use super::node::{Node, list};
use super::problem::Problem;
use half::f16;
use smallvec::SmallVec;
use toml::de::DeValue;
use vkfuse_jit::kernel::ElementType as InMemory;

/// The bytes of one element, little-endian.
pub(crate) type ElementBytes = SmallVec<[u8; 8]>;

/// The scalar type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementType {
    F16,
    F32,
    F64,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

impl ElementType {
    /// Every type with its name in a pipeline file.
    pub(crate) const ALL: [(&'static str, ElementType); 11] = [
        ("f16", ElementType::F16),
        ("f32", ElementType::F32),
        ("f64", ElementType::F64),
        ("i8", ElementType::I8),
        ("u8", ElementType::U8),
        ("i16", ElementType::I16),
        ("u16", ElementType::U16),
        ("i32", ElementType::I32),
        ("u32", ElementType::U32),
        ("i64", ElementType::I64),
        ("u64", ElementType::U64),
    ];

    /// Its name in a pipeline file.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, ty)| *ty == self).map_or("?", |(name, _)| name)
    }

    /// Size of one element in bytes; also its natural alignment.
    pub(crate) fn size(self) -> usize {
        match self {
            ElementType::I8 | ElementType::U8 => 1,
            ElementType::F16 | ElementType::I16 | ElementType::U16 => 2,
            ElementType::F32 | ElementType::I32 | ElementType::U32 => 4,
            ElementType::F64 | ElementType::I64 | ElementType::U64 => 8,
        }
    }

    /// The type as kernels have it.
    pub(crate) fn in_memory(self) -> InMemory {
        let bytes = self.size() as u8;
        match self {
            ElementType::U8 => InMemory::Bytes,
            ElementType::F16 | ElementType::F32 | ElementType::F64 => InMemory::float(bytes),
            ElementType::U16 | ElementType::U32 | ElementType::U64 => InMemory::int(bytes, false),
            ElementType::I8 | ElementType::I16 | ElementType::I32 | ElementType::I64 => {
                InMemory::int(bytes, true)
            }
        }
    }

    /// Whether one's bytes are the other's values, up to signs; `u8` is anything.
    pub(crate) fn is_like(self, other: ElementType) -> bool {
        let is_same = (self.is_float(), self.size()) == (other.is_float(), other.size());
        is_same || [self, other].contains(&ElementType::U8)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, ElementType::F16 | ElementType::F32 | ElementType::F64)
    }

    /// Smallest and largest value of an integer type; `None` for floats.
    fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            ElementType::F16 | ElementType::F32 | ElementType::F64 => return None,
            ElementType::I8 => (i8::MIN.into(), i8::MAX.into()),
            ElementType::U8 => (0, u8::MAX.into()),
            ElementType::I16 => (i16::MIN.into(), i16::MAX.into()),
            ElementType::U16 => (0, u16::MAX.into()),
            ElementType::I32 => (i32::MIN.into(), i32::MAX.into()),
            ElementType::U32 => (0, u32::MAX.into()),
            ElementType::I64 => (i64::MIN.into(), i64::MAX.into()),
            ElementType::U64 => (0, u64::MAX.into()),
        })
    }

    /// The number `node` as one element of this type. A number the type cannot hold is an error;
    /// a float is rounded to the nearest value, and may be `inf` or `nan` only if it says so.
    pub(crate) fn element(self, node: &Node<'_>) -> Result<ElementBytes, Problem> {
        let Some((low, high)) = self.range() else {
            return self.float(node);
        };
        let value = match node.value() {
            DeValue::Integer(_) => node.integer()?,
            _ => return Err(node.expected(&format!("an integer ({})", self.name()))),
        };
        if value < low || value > high {
            return Err(node.problem(format!("{value} is out of range for {}, {low} to {high}", self.name())));
        }
        Ok(SmallVec::from_slice(&value.to_le_bytes()[..self.size()]))
    }

    fn float(self, node: &Node<'_>) -> Result<ElementBytes, Problem> {
        let text = match node.value() {
            DeValue::Integer(_) => node.integer()?.to_string(),
            DeValue::Float(float) => float.as_str().to_owned(),
            _ => return Err(node.expected(&format!("a number ({})", self.name()))),
        };
        let no_number = || node.problem(format!("{text} is not a number"));
        let asked_infinite = text.contains("inf");
        let (bytes, infinite) = match self {
            ElementType::F32 => {
                let value: f32 = text.parse().map_err(|_| no_number())?;
                (SmallVec::from_slice(&value.to_le_bytes()), value.is_infinite())
            }
            ElementType::F16 => {
                let value = f16::from_f64(text.parse().map_err(|_| no_number())?);
                (SmallVec::from_slice(&value.to_le_bytes()), value.is_infinite())
            }
            _ => {
                let value: f64 = text.parse().map_err(|_| no_number())?;
                (SmallVec::from_slice(&value.to_le_bytes()), value.is_infinite())
            }
        };
        if infinite && !asked_infinite {
            return Err(node.problem(format!("{text} is out of range for {}", self.name())));
        }
        Ok(bytes)
    }

    /// The element of `iota` at `index`: the index itself, wrapped to an integer type's width,
    /// rounded to a float type's nearest value.
    pub(crate) fn iota(self, index: u64) -> ElementBytes {
        match self {
            ElementType::F16 => SmallVec::from_slice(&f16::from_f64(index as f64).to_le_bytes()),
            ElementType::F32 => SmallVec::from_slice(&(index as f32).to_le_bytes()),
            ElementType::F64 => SmallVec::from_slice(&(index as f64).to_le_bytes()),
            _ => SmallVec::from_slice(&index.to_le_bytes()[..self.size()]),
        }
    }
}

/// What a type of GLSL or C is called here.
fn of_shaders(name: &str) -> Option<&'static str> {
    Some(match name {
        "float" => "f32",
        "double" => "f64",
        "half" | "float16_t" => "f16",
        "int" => "i32",
        "uint" | "unsigned" => "u32",
        "long" | "int64_t" => "i64",
        "ulong" | "uint64_t" => "u64",
        _ => return None,
    })
}

/// A number with its type, as in `{ u32 = 64 }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Bool(bool),
    Number(ElementType, ElementBytes),
}

impl Scalar {
    /// Reads `{ TYPE = VALUE }`. `with_bool` says whether `{ bool = true }` may stand here.
    pub(crate) fn read(node: &Node<'_>, with_bool: bool) -> Result<Scalar, Problem> {
        let mut names: Vec<&str> = ElementType::ALL.iter().map(|(name, _)| *name).collect();
        if with_bool {
            names.push("bool");
        }
        if !node.is_table() {
            return Err(node.expected("a typed number such as { u32 = 64 }"));
        }
        let meant = node
            .open_table()?
            .entries()
            .find_map(|(name, value)| Some((*name, of_shaders(name)?, value.clone())));
        if let Some((name, own, value)) = meant {
            return Err(value.problem(format!("unknown key \"{name}\": the type is {own} here")));
        }
        let table = node.table(&names)?;
        let mut entries = table.entries();
        let (Some((name, value)), None) = (entries.next(), entries.next()) else {
            return Err(node.problem(format!("expected exactly one of {}", list(names.iter().copied()))));
        };
        match ElementType::ALL.iter().find(|(known, _)| known == name) {
            Some((_, ty)) => Ok(Scalar::Number(*ty, ty.element(value)?)),
            None => Ok(Scalar::Bool(value.boolean()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iota_wraps_integers_and_rounds_floats() {
        assert_eq!(ElementType::U8.iota(257).as_slice(), [1]);
        assert_eq!(ElementType::I16.iota(0x1_8000).as_slice(), [0, 0x80]);
        assert_eq!(ElementType::F16.iota(2049).as_slice(), f16::from_f32(2048.0).to_le_bytes());
        assert_eq!(ElementType::F32.iota(3).as_slice(), 3f32.to_le_bytes());
    }

    #[test]
    fn names_and_sizes() {
        for (name, ty) in ElementType::ALL {
            assert_eq!(ty.name(), name);
            assert_eq!(name[1..].parse::<usize>().ok(), Some(ty.size() * 8));
        }
    }
}
