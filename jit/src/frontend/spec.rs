//! Specialization constants: which there are, and what a caller may give for them.
//!
//! SPIR-V section "Specialization"; Vulkan's `VkSpecializationInfo` matches them by `SpecId`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use ahash::AHashMap;
use rspirv::spirv::{Decoration, Op};

use super::error::KernelError;
use super::spec_type::SpecType;
use super::value::Constants;
use super::words;

impl SpecType {
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

impl std::fmt::Display for SpecValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::I8(value) => value.fmt(f),
            Self::U8(value) => value.fmt(f),
            Self::I16(value) => value.fmt(f),
            Self::U16(value) => value.fmt(f),
            Self::I32(value) => value.fmt(f),
            Self::U32(value) => value.fmt(f),
            Self::I64(value) => value.fmt(f),
            Self::U64(value) => value.fmt(f),
            Self::F32(value) => value.fmt(f),
            Self::F64(value) => value.fmt(f),
            Self::F16(bits) => write!(f, "a half with the bits {bits:#06x}"),
        }
    }
}

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
    /// Whether the default follows from other constants, as that of `override b = a * 2` does; [`default`](Self::default) is what it
    /// is if none of them is given.
    pub derived: bool,
    /// Further constants with the same id, in the order of the module. A value that is given is the value of all of them; if none
    /// is given, each has its own default.
    pub shared: Vec<SharedConstant>,
}

/// A constant that has its id in common with one before it.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedConstant {
    /// Its name, if the module has debug names.
    pub name: Option<String>,
    /// Its type.
    pub ty: SpecType,
    /// The value it has when none is given.
    pub default: SpecValue,
}

impl SpecConstant {
    /// Types and defaults of all constants with this id.
    fn all(&self) -> impl Iterator<Item = (SpecType, SpecValue)> + '_ {
        let others = self.shared.iter().map(|one| (one.ty, one.default));
        std::iter::once((self.ty, self.default)).chain(others)
    }

    /// Whether a value of this type may be given: one of the constants with this id accepts it, and it has the size of all of them,
    /// as Vulkan asks for.
    pub fn accepts(&self, given: SpecType) -> bool {
        self.all().any(|(ty, _)| ty.accepts(given)) && self.all().all(|(ty, _)| ty.size() == given.size())
    }

    /// The bits that a value stands for, or `None` if all constants with this id have that value anyway.
    fn bits(&self, value: SpecValue) -> Option<u64> {
        let is_bool = |ty| ty == SpecType::Bool;
        let as_bool = |bits: u64| u64::from(bits != 0);
        let bits = match self.all().all(|(ty, _)| is_bool(ty)) {
            true => as_bool(value.bits()),
            false => value.bits(),
        };
        let is_default = |(ty, default): (SpecType, SpecValue)| match is_bool(ty) {
            true => as_bool(bits) == default.bits(),
            false => bits == default.bits(),
        };
        let is_needed = self.required || self.derived;
        (is_needed || !self.all().all(is_default)).then_some(bits)
    }
}

/// Lists the specialization constants of a module, by ascending `SpecId`, one for each id.
///
/// Decoration groups were expanded before.
pub(crate) fn reflect(words: &[u32], names: &AHashMap<u32, String>) -> Vec<SpecConstant> {
    let mut ids: AHashMap<u32, u32> = AHashMap::new();
    let mut constants = Constants::default();
    let mut found: BTreeMap<u32, SpecConstant> = BTreeMap::new();
    for inst in words::instructions(words) {
        constants.learn(&inst);
        match inst.op() {
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
                let name = names.get(&result).filter(|name| !name.is_empty()).cloned();
                let default = ty.value(constants.bits(result).unwrap_or(0));
                match found.entry(id) {
                    Entry::Occupied(first) => {
                        first.into_mut().shared.push(SharedConstant { name, ty, default });
                    }
                    Entry::Vacant(place) => {
                        let (required, derived, shared) = (false, false, Vec::new());
                        place.insert(SpecConstant { id, name, ty, default, required, derived, shared });
                    }
                }
            }
            Some(Op::Function) => break,
            _ => {}
        }
    }
    found.into_values().collect()
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

/// Checks given values against the constants there are; returns the bits of those that make a difference, by ascending id, so
/// that equal results mean equal code. As in Vulkan, a value for a constant that the module does not have is ignored; see
/// [`unknown`].
pub(crate) fn resolve(
    kernel: &str,
    constants: &[SpecConstant],
    values: &[(u32, SpecValue)],
) -> Result<Vec<(u32, u64)>, KernelError> {
    let mut bits: Vec<(u32, u64)> = Vec::new();
    let mut seen = vec![false; constants.len()];
    for (id, value) in values {
        let Ok(index) = constants.binary_search_by_key(id, |constant| constant.id) else { continue };
        if std::mem::replace(&mut seen[index], true) {
            return Err(KernelError::RepeatedSpecialization { kernel: kernel.to_owned(), id: *id });
        }
        let constant = &constants[index];
        if !constant.accepts(value.ty()) {
            return Err(KernelError::SpecializationType {
                kernel: kernel.to_owned(),
                id: *id,
                expected: constant.ty,
                given: value.ty(),
            });
        }
        bits.extend(constant.bits(*value).map(|bits| (*id, bits)));
    }
    bits.sort_unstable();
    Ok(bits)
}

/// The ids, ascending and once each, for which values are given and that no constant has.
pub(crate) fn unknown(constants: &[SpecConstant], given: impl Iterator<Item = u32>) -> Vec<u32> {
    let is_unknown = |id: &u32| constants.binary_search_by_key(id, |constant| constant.id).is_err();
    let mut ids: Vec<u32> = given.filter(is_unknown).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
