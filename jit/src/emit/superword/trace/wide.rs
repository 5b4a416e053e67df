//! Accesses to elements of items next to each other, as vectors.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass, Word};

use super::super::vectors::{Place, Touch, WIDE};
use super::{Other, Pointer, Traced, Tracer, Value, ids};
use crate::emit::builder::Builder;

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
    scalar: Word,
    /// Bytes before it.
    offset: u32,
}

impl Tracer<'_> {
    /// Counts an access to a buffer of elements of type `ty`. While it is not known which are to vectors, notes what it touches; then says whether
    /// this one is.
    pub(super) fn touch(&mut self, inst: &Instruction, pointer: &Pointer, ty: Word) -> Traced<Option<Wide>> {
        if pointer.class != StorageClass::StorageBuffer {
            return Ok(None);
        }
        let number = self.accesses;
        self.accesses += 1;
        let Some(vectors) = self.vectors.clone() else {
            let stores = inst.class.opcode == Op::Store;
            let frozen = !stores && self.frozen.contains(&pointer.variable);
            let place = self.place(inst, pointer, ty).map(|(_, place)| place);
            let always = self.known.len() == 1;
            let varies = pointer.path.iter().any(|index| matches!(index, Value::Each(_)));
            let times = if varies { self.items } else { 1 };
            self.touches.push(Touch { number, stores, frozen, always, times, place });
            return Ok(None);
        };
        let items = vectors.items(number);
        if items.is_none_or(|items| !items.iter().all(|&item| item)) {
            let bindings = &mut self.shared.bindings;
            bindings.binding_of(pointer.variable).into_iter().for_each(|one| bindings.mark_narrow(one));
        }
        let Some(items) = items else { return Ok(None) };
        let (array, place) = self.place(inst, pointer, ty).ok_or(Other)?;
        Ok(Some(Wide { items, array, numbers: place.numbers }))
    }

    /// The elements that an access touches, if they are words of an array at a place that can hold vectors.
    fn place(&mut self, inst: &Instruction, pointer: &Pointer, ty: Word) -> Option<(Array, Place)> {
        let is_plain = inst.operands.len() == 1 + usize::from(inst.class.opcode == Op::Store);
        let ([Value::One(member), Value::Each(indices)], true) = (pointer.path.as_slice(), is_plain) else {
            return None;
        };
        let array = self.array(pointer.variable, *member).filter(|array| array.scalar == ty)?;
        let mut numbers = [0; WIDE];
        let mut rest = None;
        if indices.len() != WIDE {
            return None;
        }
        for (number, &index) in numbers.iter_mut().zip(indices) {
            let fact = self.fact(index);
            let (own, constant) = fact.words.filter(|_| fact.early)?.split();
            *number = constant as i32;
            if rest.get_or_insert_with(|| own.clone()) != &own {
                return None;
            }
        }
        Some((array, Place { variable: pointer.variable, rest: rest?, numbers }))
    }

    /// The array of 32-bit words that is this member of a variable's block, if it starts at a multiple of a vector.
    fn array(&mut self, variable: Word, member: Word) -> Option<Array> {
        let member = self.number(member)?;
        let Builder { definitions, module, .. } = &self.shared.builder;
        let of = |id: Word, op: Op| definitions.get(&id).filter(|inst| inst.class.opcode == op);
        let operand = |inst: &Instruction, at: usize| inst.operands.get(at).and_then(Operand::id_ref_any);
        let pointer = of(definitions.get(&variable)?.result_type?, Op::TypePointer)?;
        let block = of(operand(pointer, 1)?, Op::TypeStruct)?;
        let array = of(operand(block, member as usize)?, Op::TypeRuntimeArray)?;
        let scalar = operand(array, 0)?;
        let is_word = definitions.get(&scalar).is_some_and(|inst| {
            matches!(inst.class.opcode, Op::TypeInt | Op::TypeFloat)
                && inst.operands.first() == Some(&Operand::LiteralBit32(32))
        });
        let decoration = |of: &[Operand]| {
            let known = module.annotations.iter().find(|inst| inst.operands.starts_with(of))?;
            match known.operands.get(of.len()) {
                Some(Operand::LiteralBit32(value)) => Some(*value),
                _ => None,
            }
        };
        let stride =
            decoration(&[Operand::IdRef(array.result_id?), Operand::Decoration(Decoration::ArrayStride)])?;
        let offset = decoration(&[
            Operand::IdRef(block.result_id?),
            Operand::LiteralBit32(member),
            Operand::Decoration(Decoration::Offset),
        ])?;
        let fits = is_word && stride == 4 && offset.is_multiple_of(4 * WIDE as u32);
        fits.then_some(Array { scalar, offset })
    }

    /// All elements of an access that is one vector.
    pub(super) fn load_vector(&mut self, pointer: &Pointer, wide: &Wide) -> Traced<Value> {
        let (at, vector) = self.vector(pointer, wide, 0)?;
        let all = self.emit(Op::Load, vector, ids(&[at]), &[])?;
        let part = |this: &mut Self, lane: u32| {
            let operands = vec![Operand::IdRef(all), Operand::LiteralBit32(lane)];
            this.write(Op::CompositeExtract, wide.array.scalar, operands, &[])
        };
        let parts = (0..WIDE as u32).map(|lane| part(self, lane)).collect::<Traced<_>>()?;
        Ok(Value::from(parts))
    }

    /// The element of one item, of a vector that is loaded once.
    pub(super) fn load_part(&mut self, pointer: &Pointer, wide: &Wide, item: usize) -> Traced<Word> {
        let (at, vector) = self.vector(pointer, wide, item)?;
        let all = self.write(Op::Load, vector, ids(&[at]), &[])?;
        let lane = wide.numbers[item].rem_euclid(WIDE as i32) as u32;
        let operands = vec![Operand::IdRef(all), Operand::LiteralBit32(lane)];
        self.write(Op::CompositeExtract, wide.array.scalar, operands, &[])
    }

    pub(super) fn store_vector(&mut self, pointer: &Pointer, wide: &Wide, value: &Value) -> Traced<()> {
        let (at, vector) = self.vector(pointer, wide, 0)?;
        let parts: Vec<Word> = (0..WIDE).map(|item| value.of(item)).collect();
        let all = self.write(Op::CompositeConstruct, vector, ids(&parts), &[])?;
        self.blocks.code.effect(Op::Store, ids(&[at, all]));
        self.written += 1;
        Ok(())
    }

    /// A pointer to the vector with an item's element, and its type. That it starts where vectors do is asked before; its elements are all touched.
    fn vector(&mut self, pointer: &Pointer, wide: &Wide, item: usize) -> Traced<(Word, Word)> {
        let Array { scalar, offset } = wide.array;
        let (number, boolean) = (self.shared.builder.u32(), self.shared.builder.bool());
        let constant = |this: &mut Self, value: u32| this.shared.builder.constant(value);
        let mut first = pointer.path.last().ok_or(Other)?.of(item);
        if self.fact(first).ty != number {
            first = self.write(Op::Bitcast, number, ids(&[first]), &[])?;
        }
        let lane = constant(self, wide.numbers[item].rem_euclid(WIDE as i32) as u32);
        first = self.write(Op::ISub, number, ids(&[first, lane]), &[])?;
        let (most, zero) = (constant(self, WIDE as u32 - 1), constant(self, 0));
        let beside = self.write(Op::BitwiseAnd, number, ids(&[first, most]), &[])?;
        let is_whole = self.write(Op::IEqual, boolean, ids(&[beside, zero]), &[])?;
        if !mutant!(VectorsLieAnywhere) {
            self.assume(is_whole, true)?;
        }
        let binding = self.shared.bindings.binding_of(pointer.variable).ok_or(Other)?;
        let builder = &mut self.shared.builder;
        let (block, vector) = builder.vectors(scalar, offset);
        let view = self.shared.bindings.wide_view(builder, binding, block);
        let shift = constant(self, WIDE.trailing_zeros());
        let at = self.write(Op::ShiftRightLogical, number, ids(&[first, shift]), &[])?;
        let ty = self.shared.builder.pointer(StorageClass::StorageBuffer, vector);
        let at = self.write(Op::AccessChain, ty, ids(&[view, zero, at]), &[])?;
        Ok((at, vector))
    }
}
