//! Accesses to what is no buffer any more: push constants of the fused block, and buffers that stay inside the kernel.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::{Kept, Linker};
use crate::analysis::access::{ElementIndex, PushUse};
use crate::emit::JitError;
use crate::emit::builder::Code;
use crate::emit::hide::Hiding;
use crate::emit::internal::InternalVariable;
use crate::plan::recipe::{SlotOf, Target};

impl Linker<'_> {
    fn result(&mut self, inst: &Instruction) -> Result<(Word, Word), JitError> {
        let (Some(ty), Some(result)) = (inst.result_type, inst.result_id) else {
            return Err(self.error("load without a result"));
        };
        let (ty, new) = (self.mapped(ty)?, self.mapped(result)?);
        self.value_types.insert(result, ty);
        Ok((ty, new))
    }

    pub(super) fn push_load(
        &mut self,
        inst: &Instruction,
        indices: &[Word],
        code: &mut Code,
    ) -> Result<(), JitError> {
        let (ty, result) = self.result(inst)?;
        let indices: Vec<Word> = indices.iter().map(|&i| self.mapped(i)).collect::<Result<_, _>>()?;
        let (number, pointer) = match &self.normal.analysis.push {
            PushUse::Leaves(leaves) => {
                let offset = self.push_offset(inst)?;
                let signature = inst.result_type.map(|t| self.normal.types.signature(t)).unwrap_or_default();
                let leaf = leaves.iter().position(|l| l.offset == offset && l.ty == signature);
                let slot = leaf.and_then(|leaf| Some((leaf, *self.member.push.get(leaf)?)));
                let (leaf, slot) = slot.ok_or_else(|| self.error("push constant that was not analysed"))?;
                let shared = &mut *self.shared;
                (leaf, shared.push.pointer(&mut shared.builder, code, slot, ty, &[], ty))
            }
            _ => {
                let block = self.normal.push_block.ok_or_else(|| self.error("no push-constant block"))?;
                let block = self.mapped(block)?;
                let slot = self.member.push.first().copied();
                let slot = slot.ok_or_else(|| self.error("push constants that were not planned"))?;
                let shared = &mut *self.shared;
                (0, shared.push.pointer(&mut shared.builder, code, slot, block, &indices, ty))
            }
        };
        if self.hides_argument(number, ty) {
            let plain = code.value(&mut self.shared.builder, Op::Load, ty, vec![Operand::IdRef(pointer)]);
            self.hide((plain, ty), result, code);
        } else {
            code.0.push(Instruction::new(Op::Load, Some(ty), Some(result), vec![Operand::IdRef(pointer)]));
        }
        Ok(())
    }

    /// Byte offset of a load from the member's own block, all indices being constants.
    fn push_offset(&self, inst: &Instruction) -> Result<u32, JitError> {
        let pointer = inst.operands.first().and_then(Operand::id_ref_any);
        let indices = pointer.and_then(|pointer| self.chains.get(&pointer)).map_or(&[][..], |chain| &chain.1);
        let block = self.normal.push_block.ok_or_else(|| self.error("no push-constant block"))?;
        let offset = self.normal.types.constant_offset(block, indices);
        offset.ok_or_else(|| self.error("push constant at a varying offset"))
    }

    fn internal(
        &mut self,
        binding: usize,
        element: ElementIndex,
    ) -> Result<(InternalVariable, SlotOf), JitError> {
        let Target::Internal { index, slots, .. } = &self.member.targets[binding] else {
            return Err(self.error("binding that is not internalized"));
        };
        let (index, slots) = (usize::from(*index), slots.clone());
        let slot = self.accesses.get(&self.at).and_then(|&(_, nth)| slots.get(nth)).cloned();
        let slot = slot.ok_or_else(|| self.error("access that was not analysed"))?;
        if let Some(variable) = self.shared.internal[index] {
            return Ok((variable, slot));
        }
        let element = self.mapped(element.ty)?;
        let variable = InternalVariable::new(&mut self.shared.builder, &self.recipe.internal[index], element);
        self.shared.internal[index] = Some(variable);
        Ok((variable, slot))
    }

    /// A slot that follows from the iterations of loops that are unrolled.
    fn unrolled(&mut self, first: u32, by: &[(u32, i64)], code: &mut Code) -> Word {
        let builder = &mut self.shared.builder;
        by.iter().fold(builder.constant(first), |slot, (index, slots)| {
            let Some(&round) = self.rounds.get(index) else { return slot };
            let factor = builder.constant(*slots as u32);
            let part = code.math(builder, Op::IMul, round, factor);
            code.math(builder, Op::IAdd, slot, part)
        })
    }

    /// Where the element of the present load or store, of type `ty`, is kept, if it is.
    pub(super) fn kept(&mut self, ty: Word, code: &mut Code) -> Result<Option<Kept>, JitError> {
        let kept = self
            .accesses
            .get(&self.at)
            .and_then(|&(number, _)| self.member.kept.iter().find(|one| one.access == number));
        let Some(one) = kept.cloned() else { return Ok(None) };
        let index = usize::from(one.index);
        let builder = &mut self.shared.builder;
        let variable = match self.shared.kept[index] {
            Some(variable) => variable,
            None => InternalVariable::new(builder, &self.recipe.kept[index], ty),
        };
        self.shared.kept[index] = Some(variable);
        let path = match one.slot {
            _ if self.recipe.kept[index].slots == 1 => Vec::new(),
            SlotOf::Fixed(slot) => vec![self.shared.builder.constant(slot)],
            SlotOf::Unrolled { first, by } => vec![self.unrolled(first, &by, code)],
            SlotOf::Relative { .. } => return Err(self.error("kept element whose place is not known")),
        };
        Ok(Some(Kept { variable, path }))
    }

    /// The element of an array that the present access goes through.
    fn element(&self) -> Option<ElementIndex> {
        let &(number, _) = self.accesses.get(&self.at)?;
        self.normal.analysis.accesses.get(number)?.element?.index
    }

    /// The path of an access inside its variable.
    fn path(
        &mut self,
        binding: usize,
        indices: &[Word],
        code: &mut Code,
    ) -> Result<(InternalVariable, Vec<Word>), JitError> {
        let element = self.element().ok_or_else(|| self.error("access that is not to an element"))?;
        let (variable, slot) = self.internal(binding, element)?;
        let Some((index, rest)) = indices.get(element.depth..).and_then(<[Word]>::split_first) else {
            return Err(self.error("access that is not to an element"));
        };
        let new = self.mapped(*index)?;
        let ty = self.value_types.get(index).copied();
        let ty = ty.or_else(|| self.shared.builder.definitions.get(&new)?.result_type);
        let ty = ty.ok_or_else(|| self.error("an index without a type"))?;
        let mut path = match &slot {
            _ if variable.is_one() => Vec::new(),
            SlotOf::Unrolled { first, by } => vec![self.unrolled(*first, by, code)],
            slot => {
                let shared = &mut *self.shared;
                vec![variable.slot(&mut shared.builder, code, &mut shared.inputs, slot, (new, ty))]
            }
        };
        for &id in rest {
            path.push(self.mapped(id)?);
        }
        Ok((variable, path))
    }

    pub(super) fn internal_load(
        &mut self,
        inst: &Instruction,
        binding: usize,
        indices: &[Word],
        code: &mut Code,
    ) -> Result<(), JitError> {
        let (ty, result) = self.result(inst)?;
        let (variable, path) = self.path(binding, indices, code)?;
        if self.hiding(ty) == Hiding::None {
            variable.load(&mut self.shared.builder, code, &path, ty, result);
        } else {
            // What is inside may be computed with: the variable's type has asked for what that takes.
            let plain = self.shared.builder.fresh();
            variable.load(&mut self.shared.builder, code, &path, ty, plain);
            self.hide((plain, ty), result, code);
        }
        Ok(())
    }

    pub(super) fn internal_store(
        &mut self,
        inst: &Instruction,
        binding: usize,
        indices: &[Word],
        code: &mut Code,
    ) -> Result<(), JitError> {
        let (new, ty) = self.stored(inst)?;
        let (variable, path) = self.path(binding, indices, code)?;
        variable.store(&mut self.shared.builder, code, &path, ty, new);
        Ok(())
    }

    /// What a store stores, and its type.
    fn stored(&self, inst: &Instruction) -> Result<(Word, Word), JitError> {
        let value = inst.operands.get(1).and_then(Operand::id_ref_any);
        let value = value.ok_or_else(|| self.error("store without a value"))?;
        let new = self.mapped(value)?;
        let ty = self.value_types.get(&value).copied();
        let ty = ty.or_else(|| self.shared.builder.definitions.get(&new)?.result_type);
        Ok((new, ty.ok_or_else(|| self.error("stored value without a type"))?))
    }

    /// Keeps what the present store has stored, if it is to be kept.
    pub(super) fn keep_stored(&mut self, inst: &Instruction, code: &mut Code) -> Result<(), JitError> {
        let (new, ty) = self.stored(inst)?;
        if let Some(Kept { variable, path }) = self.kept(ty, code)? {
            variable.store(&mut self.shared.builder, code, &path, ty, new);
        }
        Ok(())
    }

    pub(super) fn internal_length(
        &mut self,
        inst: &Instruction,
        binding: usize,
        code: &mut Code,
    ) -> Result<(), JitError> {
        let (_, result) = self.result(inst)?;
        let Target::Internal { lengths, .. } = &self.member.targets[binding] else {
            return Err(self.error("binding that is not internalized"));
        };
        let number = inst.result_id.and_then(|id| self.lengths.get(&id)).copied();
        let slot = number.and_then(|number| lengths.get(number)).copied();
        let slot = slot.ok_or_else(|| self.error("length that was not planned"))?;
        let shared = &mut *self.shared;
        let value = shared.push.load_u32(&mut shared.builder, code, slot);
        let ty = shared.builder.u32();
        code.0.push(Instruction::new(Op::CopyObject, Some(ty), Some(result), vec![Operand::IdRef(value)]));
        Ok(())
    }
}
