//! How the tracer notes candidates for staging, fills shared memory, and loads from there.

use rspirv::spirv::Op;
use smallvec::SmallVec;

use super::copies::{Copies, of};
use super::memory::Pointer;
use super::stage::{Noted, Stage};
use super::{Traced, Tracer, one_or_each};
use crate::ir::entity::{Type, Value};
use crate::ir::{Access, Operation, TypeKind};

impl Tracer<'_> {
    /// Notes a load from a buffer that the kernel does not write, if it is a candidate.
    pub(super) fn note_load(&mut self, pointer: &Pointer, number: usize, ty: Type) -> Traced<()> {
        let is_word = match *self.code.module.types.kind(ty) {
            TypeKind::Int { width, .. } | TypeKind::Float { width } => width == 32,
            _ => false,
        };
        let is_open = matches!(self.start.stage, Stage::Open);
        let is_always = self.known.len() == 1;
        if is_open && is_word && is_always && pointer.is_storage() && pointer.count() > 1 {
            let first: SmallVec<[Value; 4]> = pointer.path.iter().map(|index| of(index, 0)).collect();
            if let Some(words) = first.into_iter().map(|index| self.words(index)).collect::<Option<_>>() {
                self.noted.push(Noted { number, place: (pointer.global()?, words) });
            }
        }
        Ok(())
    }

    /// The values of all items from shared memory, if this load is staged.
    pub(super) fn take_staged(
        &mut self,
        pointer: &Pointer,
        number: usize,
        ty: Type,
    ) -> Traced<Option<Copies>> {
        let Stage::Take(staged) = self.start.stage.clone() else { return Ok(None) };
        let Some(&(first, _)) = staged.loads.get(&number).filter(|_| pointer.is_storage()) else {
            return Ok(None);
        };
        let (word, mut all) = (self.code.module.u32(), Copies::new());
        for item in 0..self.start.items {
            let at = self.stage_word(first, item)?;
            let place = self.place_in(staged.array, [at].into_iter().collect());
            let loaded = self.write(Operation::Load { place, access: Access::default() }, word, None)?;
            all.push(self.cast(loaded, ty)?);
        }
        Ok(Some(one_or_each(all)))
    }

    /// Stores the loaded words of all items to shared memory, if this load is staged.
    pub(super) fn store_staged(&mut self, pointer: &Pointer, number: usize, loaded: &Copies) -> Traced<()> {
        let Stage::Fill(staged) = self.start.stage.clone() else { return Ok(()) };
        let Some(&(first, true)) = staged.loads.get(&number).filter(|_| pointer.is_storage()) else {
            return Ok(());
        };
        let word = self.code.module.u32();
        for item in 0..self.start.items {
            let at = self.stage_word(first, item)?;
            let value = self.cast(of(loaded, item), word)?;
            let place = self.place_in(staged.array, [at].into_iter().collect());
            self.code.effect(Operation::Store { place, value, access: Access::default() });
            self.written += 1;
        }
        Ok(())
    }

    /// The index of an item's word, in an array part that begins at `first`.
    fn stage_word(&mut self, first: u32, item: usize) -> Traced<Value> {
        let (ty, own) = (self.code.module.u32(), self.stage_words[item]);
        let first = self.code.word(first);
        self.pure(Op::IAdd, ty, &[own, first], &[])
    }
}
