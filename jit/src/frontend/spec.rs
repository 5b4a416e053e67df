//! Specialization constants: which there are, and what a caller may give for them.
//!
//! SPIR-V section "Specialization"; Vulkan's `VkSpecializationInfo` matches them by `SpecId`.

use std::fmt;

use ahash::AHashMap;
use rspirv::spirv::{Decoration, Op};

use super::error::KernelError;
use super::value::{Constants, Type};
use super::words;

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

    fn of(ty: &Type) -> Option<SpecType> {
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

    /// The value of this type with these bits, as [`SpecValue::bits`] gives them.
    pub fn value(self, bits: u64) -> SpecValue {
        match self {
            SpecType::Bool => SpecValue::Bool(bits != 0),
            SpecType::I8 => SpecValue::I8(bits as i8),
            SpecType::U8 => SpecValue::U8(bits as u8),
            SpecType::I16 => SpecValue::I16(bits as i16),
            SpecType::U16 => SpecValue::U16(bits as u16),
            SpecType::I32 => SpecValue::I32(bits as i32),
            SpecType::U32 => SpecValue::U32(bits as u32),
            SpecType::I64 => SpecValue::I64(bits as i64),
            SpecType::U64 => SpecValue::U64(bits),
            SpecType::F16 => SpecValue::F16(bits as u16),
            SpecType::F32 => SpecValue::F32(f32::from_bits(bits as u32)),
            SpecType::F64 => SpecValue::F64(f64::from_bits(bits)),
        }
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

/// Value of a specialization constant.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SpecValue {
    Bool(bool),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    /// The bits of a half.
    F16(u16),
    F32(f32),
    F64(f64),
}

impl SpecValue {
    /// The value's type.
    pub fn ty(self) -> SpecType {
        match self {
            SpecValue::Bool(_) => SpecType::Bool,
            SpecValue::I8(_) => SpecType::I8,
            SpecValue::U8(_) => SpecType::U8,
            SpecValue::I16(_) => SpecType::I16,
            SpecValue::U16(_) => SpecType::U16,
            SpecValue::I32(_) => SpecType::I32,
            SpecValue::U32(_) => SpecType::U32,
            SpecValue::I64(_) => SpecType::I64,
            SpecValue::U64(_) => SpecType::U64,
            SpecValue::F16(_) => SpecType::F16,
            SpecValue::F32(_) => SpecType::F32,
            SpecValue::F64(_) => SpecType::F64,
        }
    }

    /// The bits, zero-extended from the width of the type; a bool is 0 or 1.
    pub fn bits(self) -> u64 {
        match self {
            SpecValue::Bool(v) => u64::from(v),
            SpecValue::I8(v) => u64::from(v as u8),
            SpecValue::U8(v) => u64::from(v),
            SpecValue::I16(v) => u64::from(v as u16),
            SpecValue::U16(v) | SpecValue::F16(v) => u64::from(v),
            SpecValue::I32(v) => u64::from(v as u32),
            SpecValue::U32(v) => u64::from(v),
            SpecValue::I64(v) => v as u64,
            SpecValue::U64(v) => v,
            SpecValue::F32(v) => u64::from(v.to_bits()),
            SpecValue::F64(v) => v.to_bits(),
        }
    }
}

/// Begins the text of an `OpModuleProcessed` that says that a specialization constant has to be given a value; its number
/// follows.
pub(super) const REQUIRED: &str = "vkfuse: required specialization constant ";

/// A specialization constant of a module.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecConstant {
    /// The number callers know it by (`constant_id` in GLSL).
    pub id: u32,
    /// Its name, if the module has debug names.
    pub name: Option<String>,
    /// Its type.
    pub ty: SpecType,
    /// The value it has when none is given.
    pub default: SpecValue,
    /// Whether a value has to be given: the constant is a WGSL override without a default.
    pub required: bool,
}

/// Lists the specialization constants of a module, by ascending `SpecId`, one for each id.
pub(crate) fn reflect(words: &[u32], names: &AHashMap<u32, String>) -> Vec<SpecConstant> {
    let mut ids: AHashMap<u32, u32> = AHashMap::new();
    let mut constants = Constants::default();
    let mut list = Vec::new();
    let mut required = Vec::new();
    for inst in words::instructions(words) {
        constants.learn(&inst);
        match inst.op() {
            Some(Op::ModuleProcessed) => {
                let text = words::string(inst.from(0));
                required.extend(text.and_then(|(text, _)| text.strip_prefix(REQUIRED)?.parse::<u32>().ok()));
            }
            Some(Op::Decorate) if inst.at(1) == Decoration::SpecId as u32 => {
                ids.insert(inst.at(0), inst.at(2));
            }
            Some(Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse) => {
                let (ty, result) = (inst.at(0), inst.at(1));
                let Some(&id) = ids.get(&result) else {
                    continue;
                };
                let Some(ty) = constants.ty(ty).and_then(SpecType::of) else {
                    continue;
                };
                list.push(SpecConstant {
                    id,
                    name: names.get(&result).filter(|name| !name.is_empty()).cloned(),
                    ty,
                    default: ty.value(constants.bits(result).unwrap_or(0)),
                    required: required.contains(&id),
                });
            }
            Some(Op::Function) => break,
            _ => {}
        }
    }
    list.sort_by_key(|constant| constant.id);
    list.dedup_by_key(|constant| constant.id);
    list
}

/// Checks that every constant has a value that has none by itself.
pub(crate) fn check_required(
    kernel: &str,
    constants: &[SpecConstant],
    values: &[(u32, SpecValue)],
) -> Result<(), KernelError> {
    let missing = constants.iter().find(|one| one.required && values.iter().all(|(id, _)| *id != one.id));
    missing.map_or(Ok(()), |one| {
        let (kernel, name) = (kernel.to_owned(), one.name.clone().unwrap_or_default());
        Err(KernelError::MissingSpecialization { kernel, id: one.id, name })
    })
}

/// Checks given values against the constants there are; returns the bits of *every* constant, in the
/// order of `constants`, so that equal results mean equal code. As in Vulkan, a value for a constant that the module does not
/// have is ignored.
pub(crate) fn resolve(
    kernel: &str,
    constants: &[SpecConstant],
    values: &[(u32, SpecValue)],
) -> Result<Vec<(u32, u64)>, KernelError> {
    let mut bits: Vec<(u32, u64)> = constants.iter().map(|c| (c.id, c.default.bits())).collect();
    let mut seen = vec![false; constants.len()];
    for (id, value) in values {
        let Ok(index) = constants.binary_search_by_key(id, |constant| constant.id) else { continue };
        if std::mem::replace(&mut seen[index], true) {
            return Err(KernelError::RepeatedSpecialization { kernel: kernel.to_owned(), id: *id });
        }
        let expected = constants[index].ty;
        if !expected.accepts(value.ty()) {
            return Err(KernelError::SpecializationType {
                kernel: kernel.to_owned(),
                id: *id,
                expected,
                given: value.ty(),
            });
        }
        bits[index].1 = if expected == SpecType::Bool { u64::from(value.bits() != 0) } else { value.bits() };
    }
    Ok(bits)
}
