//! Accesses to elements of items next to each other, as vectors.

use rspirv::spirv::Op;
use smallvec::SmallVec;

use super::copies::{Copies, of};
use super::memory::Pointer;
use super::vectors::{Lie, Place, Touch, WIDE, Which};
use super::{Other, Traced, Tracer};
use crate::emit::passes::bindings;
use crate::ir::entity::{self, Global, Type, Value};
use crate::ir::{Access, Operation, TypeKind};

/// An access some of whose items take their elements from vectors.
pub(super) struct Wide {
    pub(super) items: [bool; WIDE],
    array: Array,
    numbers: [i32; WIDE],
}

/// An array of words at the end of a block.
#[derive(Clone, Copy)]
struct Array {
    /// Type of its elements.
    scalar: Type,
    /// Bytes before it.
    offset: u32,
}

impl Tracer<'_> {
    /// Counts an access to a buffer of elements of type `ty`. While it is not known which are to vectors, notes what it touches; then says whether
    /// this one is.
    pub(super) fn touch(
        &mut self,
        pointer: &Pointer,
        access: Access,
        ty: Type,
        stores: bool,
    ) -> Traced<Option<Wide>> {
        if !pointer.is_storage() {
            return Ok(None);
        }
        let number = self.accesses;
        self.accesses += 1;
        let found = self.elements(pointer, access, ty);
        let items = match &self.start.wide {
            Which::Open => {
                let frozen = !stores && self.start.source.frozen.contains(&pointer.global()?);
                let (place, always) = (found.map(|(_, place)| place), self.known.len() == 1);
                let times = if pointer.count() > 1 { self.start.items } else { 1 };
                self.touches.push(Touch { number, stores, frozen, always, times, place });
                return Ok(None);
            }
            Which::Traced(vectors) => vectors.items(number),
            Which::OfItems(bindings) => {
                let binding = bindings::binding(self.code.module, pointer.global()?);
                let lie = binding.and_then(|binding| bindings.get(&(pointer.func, binding)));
                let is_vector = |place: &Place| {
                    let base = self.start.ids.base.map(|(base, step)| (base, (step, 0)));
                    let is_own =
                        |(base, of)| place.numbers == [0, 1, 2, 3] && place.rest.of(base) == Some(of);
                    let begins = place.is_whole() && place.rest.is_multiple(WIDE as u32, &[]);
                    match lie {
                        Some(Lie::AtNumbers) => base.is_some_and(is_own) || mutant!(ItemsApartAreVectors),
                        Some(Lie::AtMultiples) => begins || mutant!(ItemsApartAreVectors),
                        None => false,
                    }
                };
                let all = found.as_ref().filter(|(_, place)| is_vector(place));
                all.map(|_| [true; WIDE])
            }
        };
        let Some(items) = items else { return Ok(None) };
        let (array, place) = found.ok_or(Other)?;
        Ok(Some(Wide { items, array, numbers: place.numbers }))
    }

    /// The elements that an access touches, if they are words of an array at a place that can hold vectors.
    fn elements(&mut self, pointer: &Pointer, access: Access, ty: Type) -> Option<(Array, Place)> {
        let (indices, path) = pointer.path.split_last()?;
        if indices.len() != WIDE || !access.is_plain() {
            return None;
        }
        let variable = pointer.global().ok()?;
        let array = self.array(variable, path).filter(|array| array.scalar == ty)?;
        let mut numbers = [0; WIDE];
        let mut rest = None;
        for (number, &index) in numbers.iter_mut().zip(indices) {
            let fact = self.fact(index);
            let (own, constant) = fact.words.as_ref()?.split();
            // Where vectors begin is asked before, unless it is known.
            if !fact.early && !own.is_multiple(WIDE as u32, &[]) {
                return None;
            }
            *number = constant as i32;
            if rest.get_or_insert_with(|| own.clone()) != &own {
                return None;
            }
        }
        Some((array, Place { array: (variable, array.offset), rest: rest?, numbers }))
    }

    /// The array of 32-bit words behind a path into a variable's block, if it starts at a multiple of a vector.
    fn array(&mut self, variable: Global, path: &[Copies]) -> Option<Array> {
        let path = self.numbers(path).ok()?;
        let module = &*self.code.module;
        let (_, block) = module.types.pointer(module.globals[variable].pointer)?;
        let (ty, offset) = module.part_at(block, path)?;
        let (TypeKind::RuntimeArray { element: scalar } | TypeKind::Array { element: scalar, .. }) =
            *module.types.kind(ty)
        else {
            return None;
        };
        let fits = module.types.width(scalar) == Some(32)
            && module.stride(ty) == Some(4)
            && offset.is_multiple_of(4 * WIDE as u32);
        fits.then_some(Array { scalar, offset })
    }

    /// All elements of an access that is one vector.
    pub(super) fn load_vector(&mut self, pointer: &Pointer, wide: &Wide) -> Traced<Copies> {
        let (place, vector) = self.vector(pointer, wide, 0)?;
        if let Some((_, known)) = self.vectors.get(&place) {
            return Ok(known.clone());
        }
        let all = self.emit(Operation::Load { place, access: Access::default() }, vector, None)?;
        let part = |lane| self.pure(Op::CompositeExtract, wide.array.scalar, &[all], &[lane]);
        let parts = (0..WIDE as u32).map(part).collect::<Traced<_>>()?;
        self.hold(pointer, place, &parts)?;
        Ok(parts)
    }

    /// Notes what a vector in memory holds, if it is there whatever was done before, and stays until the items store to its binding.
    fn hold(&mut self, pointer: &Pointer, place: entity::Place, parts: &Copies) -> Traced<()> {
        let global = pointer.global()?;
        if self.known.len() == 1 && self.start.source.own.contains(&global) {
            let binding = bindings::binding(self.code.module, global);
            self.vectors.insert(place, (binding, parts.clone()));
        }
        Ok(())
    }

    /// The element of one item, of a vector that is loaded once.
    pub(super) fn load_part(&mut self, pointer: &Pointer, wide: &Wide, item: usize) -> Traced<Value> {
        let (place, vector) = self.vector(pointer, wide, item)?;
        let all = self.write(Operation::Load { place, access: Access::default() }, vector, None)?;
        let lane = wide.numbers[item].rem_euclid(WIDE as i32) as u32;
        self.pure(Op::CompositeExtract, wide.array.scalar, &[all], &[lane])
    }

    pub(super) fn store_vector(&mut self, pointer: &Pointer, wide: &Wide, value: &Copies) -> Traced<()> {
        let (place, vector) = self.vector(pointer, wide, 0)?;
        let parts: Copies = (0..WIDE).map(|item| of(value, item)).collect();
        self.hold(pointer, place, &parts)?;
        let value = self.pure(Op::CompositeConstruct, vector, &parts, &[])?;
        self.code.effect(Operation::Store { place, value, access: Access::default() });
        self.written += 1;
        Ok(())
    }

    /// The place of the vector with an item's element, and its type. That it starts where vectors do is asked before; its elements are all touched.
    fn vector(&mut self, pointer: &Pointer, wide: &Wide, item: usize) -> Traced<(entity::Place, Type)> {
        let Array { scalar, offset } = wide.array;
        let number = self.code.module.u32();
        let index = of(pointer.path.last().ok_or(Other)?, item);
        let index = self.cast(index, number)?;
        let lane = self.code.word(wide.numbers[item].rem_euclid(WIDE as i32) as u32);
        let first = self.pure(Op::ISub, number, &[index, lane], &[])?;
        let (most, zero) = (self.code.word(WIDE as u32 - 1), self.code.word(0));
        let beside = self.pure(Op::BitwiseAnd, number, &[first, most], &[])?;
        let is_whole = self.test(Op::IEqual, beside, zero)?;
        if !mutant!(VectorsLieAnywhere) {
            self.assume(is_whole, true)?;
        }
        let (view, vector) =
            bindings::view(self.code.module, pointer.global()?, scalar, offset).ok_or(Other)?;
        let shift = self.code.word(WIDE.trailing_zeros());
        let at = self.pure(Op::ShiftRightLogical, number, &[first, shift], &[])?;
        self.views.insert(view);
        Ok((self.place_in(view, SmallVec::from_slice(&[zero, at])), vector))
    }
}
