//! Types of specialization constants.

use std::fmt;

use super::value::Type;

/// Type of a specialization constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum SpecType {
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

impl SpecType {
    /// Whether a value of type `given` may be used for a constant of this type: the same type, an integer of the same
    /// width and the other signedness, or, for a boolean, an integer of 32 bits, as Vulkan has it.
    pub fn accepts(self, given: SpecType) -> bool {
        let is_bool = self == SpecType::Bool && matches!(given, SpecType::I32 | SpecType::U32);
        is_bool || self == given || (self.unsigned().is_some() && self.unsigned() == given.unsigned())
    }

    /// Bytes of a value as Vulkan takes it: a boolean is a `VkBool32`.
    pub(super) fn size(self) -> u32 {
        match self {
            SpecType::I8 | SpecType::U8 => 1,
            SpecType::I16 | SpecType::U16 | SpecType::F16 => 2,
            SpecType::Bool | SpecType::I32 | SpecType::U32 | SpecType::F32 => 4,
            SpecType::I64 | SpecType::U64 | SpecType::F64 => 8,
        }
    }

    /// The unsigned integer type of the same width, for integers.
    fn unsigned(self) -> Option<SpecType> {
        match self {
            SpecType::I8 | SpecType::U8 => Some(SpecType::U8),
            SpecType::I16 | SpecType::U16 => Some(SpecType::U16),
            SpecType::I32 | SpecType::U32 => Some(SpecType::U32),
            SpecType::I64 | SpecType::U64 => Some(SpecType::U64),
            _ => None,
        }
    }

    /// The type of a specialization constant of this type, if there may be one.
    pub(super) fn of(ty: &Type) -> Option<SpecType> {
        Some(match ty {
            Type::Bool => SpecType::Bool,
            Type::Int { width, signed } => match (width, signed) {
                (8, true) => SpecType::I8,
                (8, false) => SpecType::U8,
                (16, true) => SpecType::I16,
                (16, false) => SpecType::U16,
                (32, true) => SpecType::I32,
                (32, false) => SpecType::U32,
                (64, true) => SpecType::I64,
                (64, false) => SpecType::U64,
                _ => return None,
            },
            Type::Float { width: 16 } => SpecType::F16,
            Type::Float { width: 32 } => SpecType::F32,
            Type::Float { width: 64 } => SpecType::F64,
            _ => return None,
        })
    }
}

impl fmt::Display for SpecType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpecType::Bool => "bool",
            SpecType::I8 => "i8",
            SpecType::U8 => "u8",
            SpecType::I16 => "i16",
            SpecType::U16 => "u16",
            SpecType::I32 => "i32",
            SpecType::U32 => "u32",
            SpecType::I64 => "i64",
            SpecType::U64 => "u64",
            SpecType::F16 => "f16",
            SpecType::F32 => "f32",
            SpecType::F64 => "f64",
        })
    }
}
