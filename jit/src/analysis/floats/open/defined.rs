//! What the ids of a function are: types, constants and variables.

use rspirv::dr::Operand;
use rspirv::spirv::{Op, StorageClass};

use super::{Finder, MOST_AT_START, MOST_ZEROS, ids, is_constant, operand};

impl Finder<'_> {
    pub(super) fn class(&self, id: u32) -> Option<StorageClass> {
        let ty = self.defined.get(&self.defined.get(&id)?.result_type?)?;
        match ty.operands.first() {
            Some(Operand::StorageClass(class)) => Some(*class),
            _ => None,
        }
    }

    pub(super) fn is_by_address(&self, pointer: u32) -> bool {
        self.class(pointer) == Some(StorageClass::PhysicalStorageBuffer)
    }

    /// Whether a value holds floats.
    pub(super) fn is_float(&self, id: u32) -> bool {
        let ty = self.defined.get(&id).and_then(|inst| inst.result_type);
        ty.is_some_and(|ty| self.floats.contains_key(&ty))
    }

    pub(super) fn can_be_hidden(&self, id: u32) -> bool {
        let ty = self.defined.get(&id).and_then(|inst| inst.result_type);
        ty.is_some_and(|ty| self.floats.get(&ty) == Some(&true))
    }

    /// Whether an id is a constant of the module.
    pub(super) fn is_constant(&self, id: u32) -> bool {
        self.defined.get(&id).is_some_and(|inst| is_constant(inst.class.opcode))
            && !self.bits.contains_key(&id)
    }

    /// Whether no part of a constant makes one of a product.
    pub(super) fn is_harmless(&self, id: u32) -> bool {
        let Some(inst) = self.defined.get(&id) else { return false };
        match (inst.class.opcode, inst.operands.first()) {
            (Op::Constant, Some(Operand::LiteralBit32(bits))) => {
                let ty = inst.result_type.and_then(|ty| self.defined.get(&ty));
                let is_half = ty.is_some_and(|ty| ty.operands.first() == Some(&Operand::LiteralBit32(16)));
                let (sign, least, top) = match is_half {
                    true => (0x7fff, 0x400, 0x7c00),
                    false => (0x7fff_ffff, 0x0080_0000, 0x7f80_0000),
                };
                (least..top).contains(&(bits & sign))
            }
            (Op::Constant, Some(Operand::LiteralBit64(bits))) => f64::from_bits(*bits).is_normal(),
            (Op::ConstantComposite, _) => ids(inst).all(|part| self.is_harmless(part)),
            _ => false,
        }
    }

    pub(super) fn scalars(&self, ty: u32) -> u32 {
        let Some(inst) = self.defined.get(&ty) else { return 1 };
        let part = || operand(inst, 0).map_or(1, |part| self.scalars(part));
        match (inst.class.opcode, inst.operands.get(1)) {
            (Op::TypeVector | Op::TypeMatrix, Some(Operand::LiteralBit32(count))) => part() * count,
            (Op::TypeArray, Some(length)) => {
                let length = length.id_ref_any().and_then(|id| self.defined.get(&id));
                match length.and_then(|inst| inst.operands.first()) {
                    Some(Operand::LiteralBit32(count)) => part().saturating_mul(*count),
                    _ => u32::MAX,
                }
            }
            (Op::TypeStruct, _) => ids(inst).map(|part| self.scalars(part)).fold(0, u32::saturating_add),
            _ => 1,
        }
    }

    /// Whether a constant is too long to be hidden where the kernel begins.
    pub(super) fn is_long(&self, id: u32) -> bool {
        let Some(inst) = self.defined.get(&id) else { return true };
        let most = if inst.class.opcode == Op::ConstantNull { MOST_ZEROS } else { MOST_AT_START };
        inst.result_type.is_none_or(|ty| self.scalars(ty) > most)
    }

    /// The local or shared variable that a pointer leads into.
    pub(super) fn variable(&self, mut pointer: u32) -> Option<u32> {
        while let Some(inst) = self.defined.get(&pointer) {
            match inst.class.opcode {
                Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => pointer = operand(inst, 0)?,
                Op::Variable => return Some(pointer),
                _ => return None,
            }
        }
        None
    }

    /// Whether a pointer leads into a local or shared variable, whichever.
    pub(super) fn is_local(&self, pointer: u32) -> bool {
        let own = [StorageClass::Function, StorageClass::Private, StorageClass::Workgroup];
        self.class(pointer).is_some_and(|class| own.contains(&class))
    }
}
