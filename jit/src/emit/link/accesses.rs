//! Accesses to what is no buffer any more: push constants of the fused block, and buffers that stay inside the kernel; and floats that come in
//! by accesses, which are hidden from the driver's compiler.

use rspirv::spirv::Op;

use super::Linker;
use crate::analysis::access::{ElementIndex, PushUse};
use crate::emit::JitError;
use crate::emit::hide::{self, Hiding};
use crate::emit::internal::InternalVariable;
use crate::ir::entity::{Inst, Place, Type, Value};
use crate::ir::{Access, Operation, Root};
use crate::plan::recipe::{SlotOf, Target};

/// Where the element of a store is kept, or that of a load was.
pub(super) struct Kept {
    pub(super) variable: InternalVariable,
    /// Indices into it.
    pub(super) path: Vec<Value>,
}

impl Linker<'_> {
    /// What loads an argument, and whether that is to be hidden.
    pub(super) fn push_load(&mut self, from: Place, ty: Type) -> Result<(Operation, bool), JitError> {
        let path = self.from.places[from].path.clone();
        let (number, place) = match &self.normal.analysis.push {
            PushUse::Leaves(leaves) => {
                let types = &self.normal.types;
                let indices = path.iter().map(|&index| self.from.number(self.source, index));
                let indices: Option<Vec<u64>> = indices.map(|index| index.map(u64::from)).collect();
                let block = self.normal.push_block.ok_or_else(|| self.error("no push-constant block"))?;
                let at = indices.and_then(|indices| types.part_at(block, indices));
                let (offset, leaf) = at.ok_or_else(|| self.error("push constant at a varying offset"))?;
                let signature = types.signature(leaf);
                let leaf = leaves.iter().position(|l| l.offset == offset && l.ty == signature);
                let slot = leaf.and_then(|leaf| Some((leaf, *self.member.push.get(leaf)?)));
                let (leaf, slot) = slot.ok_or_else(|| self.error("push constant that was not analysed"))?;
                (leaf, self.push.place(&mut self.code, slot, ty, &[], ty))
            }
            _ => {
                let block = self.push_block.ok_or_else(|| self.error("no push-constant block"))?;
                let slot = self.member.push.first().copied();
                let slot = slot.ok_or_else(|| self.error("push constants that were not planned"))?;
                (0, self.push.place(&mut self.code, slot, block, &path, ty))
            }
        };
        let load = Operation::Load { place, access: Access::default() };
        Ok((load, self.hides_argument(number, ty)))
    }

    fn internal(&mut self, binding: usize, element: Type) -> Result<(InternalVariable, SlotOf), JitError> {
        let Target::Internal { index, slots, .. } = &self.member.targets[binding] else {
            return Err(self.error("binding that is not internalized"));
        };
        let slot = self.at.and_then(|(_, nth)| slots.get(nth)).cloned();
        let slot = slot.ok_or_else(|| self.error("access that was not analysed"))?;
        let index = usize::from(*index);
        let module = &mut *self.code.module;
        let variable = *self.internal[index]
            .get_or_insert_with(|| InternalVariable::new(module, &self.recipe.internal[index], element));
        Ok((variable, slot))
    }

    /// A slot that follows from the iterations of loops that are unrolled.
    fn unrolled(&mut self, first: u32, by: &[(u32, i64)]) -> Value {
        let code = &mut self.code;
        by.iter().fold(code.word(first), |slot, (index, slots)| {
            let Some(&round) = self.rounds.get(index) else { return slot };
            let factor = code.word(*slots as u32);
            let part = code.math(Op::IMul, round, factor);
            code.math(Op::IAdd, slot, part)
        })
    }

    /// Where the element of the present load or store, of type `ty`, is kept, if it is.
    pub(super) fn kept(&mut self, ty: Type) -> Result<Option<Kept>, JitError> {
        let kept = self.at.and_then(|(number, _)| self.member.kept.iter().find(|one| one.access == number));
        let Some(one) = kept else { return Ok(None) };
        let index = usize::from(one.index);
        let module = &mut *self.code.module;
        let variable = *self.kept[index]
            .get_or_insert_with(|| InternalVariable::new(module, &self.recipe.kept[index], ty));
        let path = match &one.slot {
            _ if variable.is_one() => Vec::new(),
            SlotOf::Fixed(slot) => vec![self.code.word(*slot)],
            SlotOf::Unrolled { first, by } => vec![self.unrolled(*first, by)],
            SlotOf::Relative { .. } => return Err(self.error("kept element whose place is not known")),
        };
        Ok(Some(Kept { variable, path }))
    }

    /// The element of an array that the present access goes through.
    fn element(&self) -> Option<ElementIndex> {
        self.normal.analysis.accesses.get(self.at?.0)?.element?.index
    }

    /// The path of an access inside its variable.
    fn path(&mut self, binding: usize, from: Place) -> Result<(InternalVariable, Vec<Value>), JitError> {
        let no_element = || self.error("access that is not to an element");
        let depth = self.element().ok_or_else(no_element)?.depth;
        let place = &self.from.places[from];
        let (way, rest) = place.path.split_at_checked(depth + 1).ok_or_else(no_element)?;
        let Root::Global(global) = place.root else { return Err(no_element()) };
        let types = &self.source.types;
        let block = types.pointer(self.source.globals[global].pointer).map(|(_, block)| block);
        let number = |index: Value| self.from.number(self.source, index);
        let element =
            way.iter().try_fold(block.ok_or_else(no_element)?, |ty, &index| types.part(ty, number(index)));
        let element = self.ty(element.ok_or_else(no_element)?)?;
        let (variable, slot) = self.internal(binding, element)?;
        let mut path = match &slot {
            _ if variable.is_one() => Vec::new(),
            SlotOf::Unrolled { first, by } => vec![self.unrolled(*first, by)],
            slot => vec![variable.slot(&mut self.code, slot, way[depth])],
        };
        path.extend(rest);
        Ok((variable, path))
    }

    pub(super) fn internal_load(
        &mut self,
        binding: usize,
        from: Place,
        ty: Type,
    ) -> Result<Operation, JitError> {
        let (variable, path) = self.path(binding, from)?;
        Ok(variable.load(&mut self.code, &path, ty))
    }

    pub(super) fn internal_store(&mut self, binding: usize, to: Place, value: Value) -> Result<(), JitError> {
        let (variable, path) = self.path(binding, to)?;
        variable.store(&mut self.code, &path, value);
        Ok(())
    }

    /// Keeps what the present store has stored, if it is to be kept.
    pub(super) fn keep_stored(&mut self, value: Value) -> Result<(), JitError> {
        let ty = self.code.f().values[value].ty;
        if let Some(Kept { variable, path }) = self.kept(ty)? {
            variable.store(&mut self.code, &path, value);
        }
        Ok(())
    }

    pub(super) fn internal_length(&mut self, binding: usize, inst: Inst) -> Result<Operation, JitError> {
        let Target::Internal { lengths, .. } = &self.member.targets[binding] else {
            return Err(self.error("binding that is not internalized"));
        };
        let slot = self.lengths.get(&inst).and_then(|&number| lengths.get(number)).copied();
        let slot = slot.ok_or_else(|| self.error("length that was not planned"))?;
        Ok(Operation::copy(self.push.load_u32(&mut self.code, slot)))
    }

    /// How the result, of type `ty`, of the present instruction is hidden.
    pub(super) fn hiding(&self, ty: Type) -> Hiding {
        let Some((number, _)) = self.at else { return Hiding::None };
        Hiding::of(
            &self.member.hidden,
            self.normal.analysis.accesses[number].binding,
            hide::holds_floats(self.code.module, ty),
            !self.halves && hide::holds_halves(self.code.module, ty),
        )
    }

    /// Whether an argument of type `ty` is hidden. Halves can be hidden only where the module may compute with them.
    fn hides_argument(&self, number: usize, ty: Type) -> bool {
        self.member.hidden.push.get(number).copied().unwrap_or(false)
            && hide::holds_floats(self.code.module, ty)
            && (self.halves || !hide::holds_halves(self.code.module, ty))
    }

    /// What hides a value. The zero is loaded where the body begins.
    pub(super) fn hide(&mut self, value: Value) -> Operation {
        let (_, zero) = *self.zero.get_or_insert_with(|| {
            let ty = self.code.module.u32();
            // It is known at the end what loads it.
            let (load, zero) = self.code.function().inst(Operation::copy(value), Some(ty), None);
            (load, zero.expect("invariant: an instruction with a type has a result"))
        });
        hide::hide(&mut self.code, zero, value)
    }
}
