//! The arguments of a fused kernel: its push-constant variable, and the uniform buffer for what does not fit there.

use ahash::AHashMap;
use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, Op, StorageClass, Word};

use super::JitError;
use super::builder::{Builder, Code};
use crate::plan::recipe::{PushSlot, Recipe};

/// The variables; their types are known when every slot has been used once.
#[derive(Clone)]
pub(crate) struct PushVariable {
    push: Part,
    behind: Part,
    /// By slot: whether it is in the buffer, and which member.
    places: Vec<(bool, u32)>,
    types: AHashMap<u16, Word>,
}

/// One of the two.
#[derive(Clone, Copy)]
struct Part {
    id: Word,
    class: StorageClass,
    /// Its first byte among those of both.
    from: u32,
}

impl PushVariable {
    pub(crate) fn new(builder: &mut Builder, recipe: &Recipe) -> Self {
        let push = Part { id: builder.fresh(), class: StorageClass::PushConstant, from: 0 };
        let from = recipe.behind.unwrap_or(u32::MAX);
        let id = if recipe.behind.is_some() { builder.fresh() } else { push.id };
        let behind = Part { id, class: StorageClass::Uniform, from };
        let places = (0..recipe.push.len()).map(|slot| member(recipe, slot as u16)).collect();
        Self { push, behind, places, types: AHashMap::new() }
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
        let (is_behind, member) =
            self.places.get(usize::from(slot)).copied().unwrap_or((false, u32::from(slot)));
        let part = if is_behind { self.behind } else { self.push };
        let pointer = builder.pointer(part.class, leaf);
        let index = builder.constant(member);
        let operands = [part.id, index].iter().chain(rest).map(|&id| Operand::IdRef(id)).collect();
        code.value(builder, Op::AccessChain, pointer, operands)
    }

    /// The value of a slot that holds an unsigned number.
    pub(crate) fn load_u32(&mut self, builder: &mut Builder, code: &mut Code, slot: u16) -> Word {
        let ty = builder.u32();
        let pointer = self.pointer(builder, code, slot, ty, &[], ty);
        code.value(builder, Op::Load, ty, vec![Operand::IdRef(pointer)])
    }

    /// Notes that a slot holds an unsigned number, which will be loaded.
    pub(crate) fn reserve_u32(&mut self, builder: &mut Builder, slot: u16) {
        self.types.insert(slot, builder.u32());
    }

    /// Declares the variables.
    pub(crate) fn declare(self, builder: &mut Builder, recipe: &Recipe) -> Result<(), JitError> {
        self.declare_part(builder, recipe, false)?;
        self.declare_part(builder, recipe, true)
    }

    fn declare_part(&self, builder: &mut Builder, recipe: &Recipe, is_behind: bool) -> Result<(), JitError> {
        let here = |slot: usize| self.places[slot].0 == is_behind;
        if !self.types.keys().any(|&slot| here(usize::from(slot))) {
            return Ok(());
        }
        let part = if is_behind { self.behind } else { self.push };
        let mut slots: Vec<(usize, &PushSlot)> =
            recipe.push.iter().enumerate().filter(|&(number, _)| here(number)).collect();
        slots.sort_by_key(|&(number, _)| self.places[number].1);
        let mut members = Vec::new();
        let mut decorations = vec![vec![Operand::Decoration(Decoration::Block)]];
        for (number, slot) in slots {
            // A slot without a reader still takes its place.
            let ty = match self.types.get(&(number as u16)) {
                Some(&ty) => ty,
                None if slot.size >= 4 => builder.u32(),
                None => {
                    return Err(JitError::new("push", format!("slot {number} ({}) is never read", slot.ty)));
                }
            };
            decorations.push(vec![
                Operand::LiteralBit32(members.len() as u32),
                Operand::Decoration(Decoration::Offset),
                Operand::LiteralBit32(slot.offset - part.from),
            ]);
            members.push(Operand::IdRef(ty));
        }
        let block = builder.global(Op::TypeStruct, None, members, decorations);
        let pointer = builder.pointer(part.class, block);
        builder.place_variable(part.id, part.class, pointer, None);
        if is_behind {
            builder.decorate(part.id, Decoration::DescriptorSet, &[0]);
            builder.decorate(part.id, Decoration::Binding, &[recipe.bindings.len() as u32]);
        }
        Ok(())
    }
}

/// Whether a slot is behind the push constants, in a buffer, and its number among the members there.
pub(crate) fn member(recipe: &Recipe, slot: u16) -> (bool, u32) {
    let is_behind = |slot: &PushSlot| recipe.behind.is_some_and(|from| slot.offset >= from);
    let Some(slot) = recipe.push.get(usize::from(slot)) else { return (false, u32::from(slot)) };
    let before = |other: &&PushSlot| is_behind(other) == is_behind(slot) && other.offset < slot.offset;
    (is_behind(slot), recipe.push.iter().filter(before).count() as u32)
}
