//! The arguments of a fused kernel: its push-constant variable, and the uniform buffer for what does not fit there.

use ahash::AHashMap;
use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, StorageClass};

use super::JitError;
use crate::ir::entity::{Global, Place, Type, Value};
use crate::ir::{Access, Builder, Module, Operation, TypeData, TypeKind};
use crate::plan::recipe::{PushSlot, Recipe};

/// The variables; their types are known when every slot has been used once.
#[derive(Clone)]
pub(crate) struct PushVariable {
    push: Part,
    behind: Part,
    /// By slot: whether it is in the buffer, and which member.
    places: Vec<(bool, u32)>,
    types: AHashMap<u16, Type>,
}

/// One of the two.
#[derive(Clone, Copy)]
struct Part {
    global: Global,
    class: StorageClass,
    /// Its first byte among those of both.
    from: u32,
}

impl PushVariable {
    pub(crate) fn new(module: &mut Module, recipe: &Recipe) -> Self {
        let part = |module: &mut Module, class, from| Part { global: module.undeclared(class), class, from };
        let push = part(module, StorageClass::PushConstant, 0);
        let behind = recipe.behind.map_or(push, |from| part(module, StorageClass::Uniform, from));
        let places = (0..recipe.push.len()).map(|slot| member(recipe, slot as u16)).collect();
        Self { push, behind, places, types: AHashMap::new() }
    }

    /// A place in a slot of type `ty`; `rest` are further indices that lead to type `leaf`.
    pub(crate) fn place(
        &mut self,
        code: &mut Builder<'_>,
        slot: u16,
        ty: Type,
        rest: &[Value],
        leaf: Type,
    ) -> Place {
        self.types.insert(slot, ty);
        let (is_behind, member) =
            self.places.get(usize::from(slot)).copied().unwrap_or((false, u32::from(slot)));
        let part = if is_behind { self.behind } else { self.push };
        code.module.pointer(part.class, leaf);
        let path: Vec<Value> = [code.word(member)].iter().chain(rest).copied().collect();
        code.place_of(part.global, &path, leaf)
    }

    /// The place of a slot that holds an unsigned number.
    pub(crate) fn place_u32(&mut self, code: &mut Builder<'_>, slot: u16) -> Place {
        let ty = code.module.u32();
        self.place(code, slot, ty, &[], ty)
    }

    /// The value of a slot that holds an unsigned number.
    pub(crate) fn load_u32(&mut self, code: &mut Builder<'_>, slot: u16) -> Value {
        let (ty, place) = (code.module.u32(), self.place_u32(code, slot));
        code.value(Operation::Load { place, access: Access::default() }, ty)
    }

    /// Notes that a slot holds an unsigned number, which will be loaded.
    pub(crate) fn reserve_u32(&mut self, module: &mut Module, slot: u16) {
        self.types.insert(slot, module.u32());
    }

    /// Declares the variables.
    pub(crate) fn declare(self, module: &mut Module, recipe: &Recipe) -> Result<(), JitError> {
        self.declare_part(module, recipe, false)?;
        self.declare_part(module, recipe, true)
    }

    fn declare_part(&self, module: &mut Module, recipe: &Recipe, is_behind: bool) -> Result<(), JitError> {
        let here = |slot: usize| self.places[slot].0 == is_behind;
        if !self.types.keys().any(|&slot| here(usize::from(slot))) {
            return Ok(());
        }
        let part = if is_behind { self.behind } else { self.push };
        let mut slots: Vec<(usize, &PushSlot)> =
            recipe.push.iter().enumerate().filter(|&(number, _)| here(number)).collect();
        slots.sort_by_key(|&(number, _)| self.places[number].1);
        let (mut members, mut offsets) = (Vec::new(), Vec::new());
        for (number, slot) in slots {
            // A slot without a reader still takes its place.
            let ty = match self.types.get(&(number as u16)) {
                Some(&ty) => ty,
                None if slot.size >= 4 => module.u32(),
                None => {
                    return Err(JitError::new("push", format!("slot {number} ({}) is never read", slot.ty)));
                }
            };
            let offset = Operand::LiteralBit32(slot.offset - part.from);
            offsets.push((members.len() as u32, vec![Operand::Decoration(Decoration::Offset), offset]));
            members.push(ty);
        }
        let block = TypeData {
            kind: TypeKind::Struct { members },
            decorations: vec![vec![Operand::Decoration(Decoration::Block)]],
            members: offsets,
        };
        let block = module.ty(block.sorted());
        let pointer = module.pointer(part.class, block);
        module.retype(part.global, pointer);
        if is_behind {
            let place = Module::bound(recipe.bindings.len() as u32).to_vec();
            module.globals[part.global].decorations = module.decorations(place);
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
