//! Constants by value, as far as specialization has to know them.
//!
//! A composite keeps the ids of its parts instead of their values, so a module that nests one constant
//! in another many times costs no more here than it has words.

use ahash::AHashMap;
use rspirv::spirv::Op;

use super::words::Inst;

/// A type, as far as constants need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Bool,
    Int { width: u32, signed: bool },
    Float { width: u32 },
    Vector { element: u32, count: u32 },
    Array { element: u32 },
    Struct { members: Vec<u32> },
}

/// What a constant is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Bool(bool),
    /// The bits of a number, zero-extended from the width of its type.
    Bits(u64),
    /// Ids of the parts of a composite.
    Parts(Vec<u32>),
    /// `OpConstantNull`, or an undefined value, which may be anything and so is taken as null.
    Null,
}

/// Types and constants of a module, filled in declaration order.
#[derive(Default)]
pub(super) struct Constants {
    types: AHashMap<u32, Type>,
    values: AHashMap<u32, (u32, Value)>,
}

impl Constants {
    /// Learns from one instruction; instructions that declare neither type nor constant are ignored.
    pub(super) fn learn(&mut self, inst: &Inst<'_>) {
        let id = inst.at(0);
        let ty = match inst.op() {
            Some(Op::TypeBool) => Type::Bool,
            Some(Op::TypeInt) => Type::Int { width: inst.at(1), signed: inst.at(2) != 0 },
            Some(Op::TypeFloat) => Type::Float { width: inst.at(1) },
            Some(Op::TypeVector | Op::TypeMatrix) => Type::Vector { element: inst.at(1), count: inst.at(2) },
            Some(Op::TypeArray) => Type::Array { element: inst.at(1) },
            Some(Op::TypeStruct) => Type::Struct { members: inst.from(1).to_vec() },
            _ => return self.learn_value(inst),
        };
        self.types.insert(id, ty);
    }

    fn learn_value(&mut self, inst: &Inst<'_>) {
        let (ty, id) = (inst.at(0), inst.at(1));
        let value = match inst.op() {
            Some(Op::ConstantTrue | Op::SpecConstantTrue) => Value::Bool(true),
            Some(Op::ConstantFalse | Op::SpecConstantFalse) => Value::Bool(false),
            Some(Op::Constant | Op::SpecConstant) => {
                let bits = u64::from(inst.at(2)) | (u64::from(inst.at(3)) << 32);
                Value::Bits(truncate(bits, self.width(ty)))
            }
            Some(Op::ConstantComposite | Op::SpecConstantComposite) => Value::Parts(inst.from(2).to_vec()),
            Some(Op::ConstantNull | Op::Undef) => Value::Null,
            _ => return,
        };
        self.set(id, ty, value);
    }

    /// Records a constant.
    pub(super) fn set(&mut self, id: u32, ty: u32, value: Value) {
        self.values.insert(id, (ty, value));
    }

    /// The type with this id, if it is one that constants can have.
    pub(super) fn ty(&self, id: u32) -> Option<&Type> {
        self.types.get(&id)
    }

    /// Type id and value of a constant.
    pub(super) fn value(&self, id: u32) -> Option<&(u32, Value)> {
        self.values.get(&id)
    }

    /// Bits of a numeric type, zero for others.
    pub(super) fn width(&self, ty: u32) -> u32 {
        match self.ty(ty) {
            Some(Type::Int { width, .. } | Type::Float { width }) => *width,
            _ => 0,
        }
    }

    /// Type of part `index` of a composite type.
    pub(super) fn part_type(&self, ty: u32, index: u32) -> Option<u32> {
        match self.ty(ty)? {
            Type::Vector { element, .. } | Type::Array { element } => Some(*element),
            Type::Struct { members } => members.get(index as usize).copied(),
            _ => None,
        }
    }

    /// The bits of a scalar constant; a bool is 0 or 1.
    pub(super) fn bits(&self, id: u32) -> Option<u64> {
        match &self.value(id)?.1 {
            Value::Bool(value) => Some(u64::from(*value)),
            Value::Bits(bits) => Some(*bits),
            Value::Null => Some(0),
            Value::Parts(_) => None,
        }
    }

    /// The scalar bits of a scalar (one) or of a vector (one for each component).
    pub(super) fn components(&self, id: u32) -> Option<Vec<u64>> {
        let (ty, value) = self.value(id)?;
        match (self.ty(*ty)?, value) {
            (Type::Vector { count, .. }, Value::Null) => Some(vec![0; *count as usize]),
            (Type::Vector { .. }, Value::Parts(parts)) => parts.iter().map(|part| self.bits(*part)).collect(),
            (Type::Bool | Type::Int { .. } | Type::Float { .. }, _) => Some(vec![self.bits(id)?]),
            _ => None,
        }
    }

    /// The scalar type of a scalar or of a vector's components, with its id.
    pub(super) fn scalar(&self, ty: u32) -> Option<(u32, &Type)> {
        match self.ty(ty)? {
            Type::Vector { element, .. } => Some((*element, self.ty(*element)?)),
            scalar @ (Type::Bool | Type::Int { .. } | Type::Float { .. }) => Some((ty, scalar)),
            _ => None,
        }
    }
}

/// Keeps the low `width` bits.
pub(super) fn truncate(bits: u64, width: u32) -> u64 {
    if width >= 64 { bits } else { bits & ((1u64 << width) - 1) }
}

/// Reads the low `width` bits as a signed number.
pub(super) fn sign_extend(bits: u64, width: u32) -> i64 {
    if width == 0 || width >= 64 {
        return bits as i64;
    }
    let shift = 64 - width;
    ((bits << shift) as i64) >> shift
}
