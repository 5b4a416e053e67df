//! The one push-constant variable of a fused kernel.

use ahash::AHashMap;
use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, Op, StorageClass, Word};

use super::JitError;
use super::builder::{Builder, Code};
use crate::plan::recipe::PushSlot;

/// The variable; its type is known when every slot has been used once.
pub(crate) struct PushVariable {
    pub(crate) id: Word,
    types: AHashMap<u16, Word>,
}

impl PushVariable {
    pub(crate) fn new(builder: &mut Builder) -> Self {
        Self { id: builder.fresh(), types: AHashMap::new() }
    }

    /// A pointer into a slot of type `ty`; `rest` are further indices that lead to type `leaf`.
    pub(crate) fn pointer(
        &mut self,
        builder: &mut Builder,
        code: &mut Code,
        slot: u16,
        ty: Word,
        rest: &[Word],
        leaf: Word,
    ) -> Word {
        self.types.insert(slot, ty);
        let pointer = builder.pointer(StorageClass::PushConstant, leaf);
        let index = builder.constant(u32::from(slot));
        let operands = [self.id, index].iter().chain(rest).map(|&id| Operand::IdRef(id)).collect();
        code.value(builder, Op::AccessChain, pointer, operands)
    }

    /// The value of a slot that holds an unsigned number.
    pub(crate) fn load_u32(&mut self, builder: &mut Builder, code: &mut Code, slot: u16) -> Word {
        let ty = builder.u32();
        let pointer = self.pointer(builder, code, slot, ty, &[], ty);
        code.value(builder, Op::Load, ty, vec![Operand::IdRef(pointer)])
    }

    /// Declares the variable. Returns whether there is one.
    pub(crate) fn declare(self, builder: &mut Builder, slots: &[PushSlot]) -> Result<bool, JitError> {
        if self.types.is_empty() {
            return Ok(false);
        }
        let mut members = Vec::new();
        let mut decorations = vec![vec![Operand::Decoration(Decoration::Block)]];
        for (number, slot) in slots.iter().enumerate() {
            // A slot nobody reads still keeps its place.
            let ty = match self.types.get(&(number as u16)) {
                Some(&ty) => ty,
                None if slot.size >= 4 => builder.u32(),
                None => {
                    return Err(JitError::new("push", format!("slot {number} ({}) is never read", slot.ty)));
                }
            };
            members.push(Operand::IdRef(ty));
            decorations.push(vec![
                Operand::LiteralBit32(number as u32),
                Operand::Decoration(Decoration::Offset),
                Operand::LiteralBit32(slot.offset),
            ]);
        }
        let block = builder.global(Op::TypeStruct, None, members, decorations);
        let pointer = builder.pointer(StorageClass::PushConstant, block);
        builder.place_variable(self.id, StorageClass::PushConstant, pointer, None);
        Ok(true)
    }
}
