//! Types of values as data: what the lowering and the signature know of a Rust type.

use std::fmt;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum ScalarType {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl ScalarType {
    /// Bytes in Rust's memory.
    #[must_use]
    pub fn size(self) -> u32 {
        match self {
            ScalarType::Bool | ScalarType::I8 | ScalarType::U8 => 1,
            ScalarType::I16 | ScalarType::U16 | ScalarType::F16 => 2,
            ScalarType::I32 | ScalarType::U32 | ScalarType::F32 => 4,
            ScalarType::I64 | ScalarType::U64 | ScalarType::F64 => 8,
        }
    }

    /// Bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        8 * self.size()
    }

    /// Whether it is a float.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, ScalarType::F16 | ScalarType::F32 | ScalarType::F64)
    }

    /// Whether it is an integer.
    #[must_use]
    pub fn is_int(self) -> bool {
        !self.is_float() && self != ScalarType::Bool
    }

    /// What values of the type are held in on a device: what is narrower than 32 bits in 32, see `stage::narrow` and
    /// `stage::half`.
    #[must_use]
    pub fn held(self) -> ScalarType {
        match self {
            ScalarType::I8 | ScalarType::I16 => ScalarType::I32,
            ScalarType::U8 | ScalarType::U16 => ScalarType::U32,
            ScalarType::F16 => ScalarType::F32,
            other => other,
        }
    }

    /// The number that the low bits are, extended by its sign.
    pub(crate) fn extend(self, bits: u64) -> u64 {
        let unused = 64 - self.bits();
        if self.is_signed() { ((bits << unused) as i64 >> unused) as u64 } else { bits << unused >> unused }
    }

    /// Whether it is an integer with a sign.
    #[must_use]
    pub fn is_signed(self) -> bool {
        matches!(self, ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64)
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// One number or bool.
    Scalar(ScalarType),
    /// Two to four components.
    Vector(ScalarType, u32),
    /// This many elements of one shape, without gaps except for the element's own padding.
    Array(Box<Shape>, u32),
    /// A struct of `repr(C)`.
    Struct(StructShape),
}

/// A struct of `repr(C)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructShape {
    /// Name of the Rust type.
    pub name: &'static str,
    /// Bytes, padding included.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Fields in order.
    pub fields: Vec<FieldShape>,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldShape {
    /// Name.
    pub name: &'static str,
    /// Byte offset that Rust gives it.
    pub offset: u32,
    /// Its type.
    pub shape: Shape,
}

impl Shape {
    /// Bytes in Rust's memory, padding included.
    #[must_use]
    pub fn size(&self) -> u32 {
        match self {
            Shape::Scalar(scalar) => scalar.size(),
            Shape::Vector(scalar, n) => n * scalar.size(),
            Shape::Array(element, n) => n * element.size(),
            Shape::Struct(shape) => shape.size,
        }
    }

    /// Alignment in Rust's memory, in bytes. Vectors of three components are aligned as one, as is usual in Rust and not
    /// in shaders.
    #[must_use]
    pub fn align(&self) -> u32 {
        match self {
            Shape::Scalar(scalar) | Shape::Vector(scalar, 3) => scalar.size(),
            Shape::Vector(scalar, n) => n * scalar.size(),
            Shape::Array(element, _) => element.align(),
            Shape::Struct(shape) => shape.align,
        }
    }

    /// Whether it is, or contains, an array, which only memory can be indexed in.
    pub(crate) fn has_array(&self) -> bool {
        match self {
            Shape::Scalar(_) | Shape::Vector(..) => false,
            Shape::Array(..) => true,
            Shape::Struct(shape) => shape.fields.iter().any(|field| field.shape.has_array()),
        }
    }

    /// Whether it is a struct, or an array of structs.
    pub(crate) fn has_struct(&self) -> bool {
        match self {
            Shape::Scalar(_) | Shape::Vector(..) => false,
            Shape::Array(element, _) => element.has_struct(),
            Shape::Struct(_) => true,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Scalar(scalar) => scalar.fmt(f),
            Shape::Vector(scalar, n) => write!(f, "vec{n}<{scalar}>"),
            Shape::Array(element, n) => write!(f, "[{element}; {n}]"),
            Shape::Struct(shape) => f.write_str(shape.name),
        }
    }
}
