//! The operands of a definition: elements, arguments, and the ids of the item, as they are at the place where it is recomputed.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, Op, Word};

use super::item::Part;
use super::{Copy, Place};
use crate::rewrite::writer::Result;

impl Copy<'_> {
    /// A load: of an element, an argument or an id.
    pub(super) fn argument(
        &mut self,
        code: &mut Vec<Instruction>,
        inst: &Instruction,
        place: &Place,
    ) -> Result<()> {
        let (old, ty) = inst.result_id.zip(inst.result_type).ok_or("an instruction without a result")?;
        let pointer = inst.operands.first().and_then(Operand::id_ref_any).ok_or("a load of nothing")?;
        let (base, path) = self.import.path(pointer).ok_or("a pointer that is not followed")?;
        if let Some(builtin) = self.import.builtin(base) {
            let value = self.id(code, builtin, &path, place)?;
            self.values.insert(old, value);
            return Ok(());
        }
        if !self.import.is_push(base) {
            return self.element_where(code, inst, None);
        }
        let own = self.import.global(&mut self.writer, ty)?;
        if self.zero.is_some() && self.writer.is_stored_half(own) {
            return Err("arguments that are halves");
        }
        let argument = self.import.argument(&mut self.writer, &path, ty)?;
        let value = self.writer.load(code, argument);
        self.loaded(code, inst, value, own)
    }

    /// A load of an element; where a condition does not hold, it is the first one.
    pub(super) fn element_where(
        &mut self,
        code: &mut Vec<Instruction>,
        inst: &Instruction,
        happens: Option<Word>,
    ) -> Result<()> {
        let ty = inst.result_type.ok_or("an instruction without a result")?;
        let pointer = inst.operands.first().and_then(Operand::id_ref_any).ok_or("a load of nothing")?;
        let (base, path) = self.import.path(pointer).ok_or("a pointer that is not followed")?;
        let own = self.import.global(&mut self.writer, ty)?;
        let variable = self.import.global(&mut self.writer, base)?;
        let mut place = variable;
        if let Some(chain) = self.import.chain(pointer) {
            let to =
                self.import.global(&mut self.writer, chain.result_type.ok_or("a chain without a type")?)?;
            let mut operands = vec![variable];
            for (number, &index) in path.iter().enumerate() {
                operands.push(match happens {
                    Some(happens) if number + 1 == path.len() => self.index_where(code, index, happens)?,
                    _ => self.value(index)?,
                });
            }
            place = self.writer.apply(code, chain.class.opcode, to, &operands);
        }
        let id = self.writer.apply(code, Op::Load, own, &[place]);
        self.loaded(code, inst, id, own)
    }

    /// Takes in a value of type `own` that was loaded.
    fn loaded(
        &mut self,
        code: &mut Vec<Instruction>,
        inst: &Instruction,
        mut value: Word,
        own: Word,
    ) -> Result<()> {
        let (old, ty) = inst.result_id.zip(inst.result_type).ok_or("an instruction without a result")?;
        // What the consumer loads as well, or has as an argument, it may have computed with. Halves of an epilogue that are in memory alone are
        // hidden where the kernel is linked, if another binding has them as well (`emit::hide`).
        let is_stored_half = self.definition.is_none() && self.writer.is_stored_half(own);
        if self.zero.is_some() && self.import.holds_floats(ty) && !is_stored_half {
            value = self.hide(code, value, own)?;
        }
        self.values.insert(old, value);
        Ok(())
    }

    /// An id of the item that stores what is at this place.
    fn id(
        &mut self,
        code: &mut Vec<Instruction>,
        builtin: BuiltIn,
        path: &[Word],
        place: &Place,
    ) -> Result<Word> {
        let dims = match (self.dims, place) {
            (Some(dims), _) => dims,
            (None, Place::Element(number)) => self.digits(code, *number),
            (None, Place::Texel(coordinates)) => self.item_at(code, coordinates),
        };
        self.dims = Some(dims);
        let [global, group, local] = dims;
        let three = match builtin {
            BuiltIn::GlobalInvocationId => global,
            BuiltIn::WorkgroupId => group,
            BuiltIn::LocalInvocationId => local,
            BuiltIn::LocalInvocationIndex => {
                let mut index = local[2];
                for d in [1, 0] {
                    let size = self.writer.constant(self.size[d]);
                    index = self.writer.math(code, Op::IMul, index, size);
                    index = self.writer.math(code, Op::IAdd, index, local[d]);
                }
                return Ok(index);
            }
            _ => return Err("built-ins other than its ids"),
        };
        match path {
            [] => {
                let vector = self.writer.uvec3();
                Ok(self.writer.apply(code, Op::CompositeConstruct, vector, &three))
            }
            [index] => {
                let index = self.import.constant(*index).and_then(|index| three.get(index as usize).copied());
                index.ok_or("a component of an id chosen at run time")
            }
            _ => Err("an id of another type"),
        }
    }

    /// Takes an index apart: global, group and local id.
    pub(super) fn digits(&mut self, code: &mut Vec<Instruction>, number: Word) -> [[Word; 3]; 3] {
        let zero = self.writer.constant(0);
        let mut rest = number;
        if let Some(first) = self.numbers.first {
            let first = self.writer.load(code, first);
            rest = self.writer.math(code, Op::ISub, rest, first);
        }
        let mut dims = [[zero; 3]; 3];
        let digits = self.ids.digits.clone();
        let known = self.row.filter(|_| self.ids.by_row);
        for (at, digit) in digits.iter().enumerate().rev() {
            let mut value = rest;
            if let Some([row, column]) = known.filter(|_| at + 1 == digits.len()) {
                (value, rest) = (row, column);
            } else if let Some(&weight) = at.checked_sub(1).and_then(|at| self.numbers.weights.get(at)) {
                let weight = self.writer.load(code, weight);
                value = self.writer.math(code, Op::UDiv, rest, weight);
                rest = self.writer.math(code, Op::UMod, rest, weight);
            }
            if digit.mirrored {
                let before = digits.iter().take(at).filter(|digit| digit.mirrored).count();
                let greatest = self.writer.load(code, self.numbers.greatest[before]);
                value = self.writer.math(code, Op::ISub, greatest, value);
            }
            if digit.scaled {
                let before = digits.iter().take(at).filter(|digit| digit.scaled).count();
                let scale = self.writer.load(code, self.numbers.scales[before]);
                value = self.writer.math(code, Op::IMul, value, scale);
            }
            let part = match digit.part {
                Part::Global => 0,
                Part::Group => 1,
                Part::Local => 2,
                Part::Site => {
                    self.site = Some(value);
                    continue;
                }
            };
            let id = &mut dims[part][usize::from(digit.dim)];
            *id = if *id == zero { value } else { self.writer.math(code, Op::IAdd, *id, value) };
        }
        for (d, size) in self.size.into_iter().enumerate() {
            let has = |part: Part| digits.iter().any(|digit| (digit.dim, digit.part) == (d as u8, part));
            let size = self.writer.constant(size);
            if has(Part::Global) {
                self.parts_of_global(code, &mut dims, d);
            } else if has(Part::Group) || has(Part::Local) {
                let start = self.writer.math(code, Op::IMul, dims[1][d], size);
                dims[0][d] = self.writer.math(code, Op::IAdd, start, dims[2][d]);
            }
        }
        dims
    }

    /// Group and local id of a dimension, by its global id.
    pub(super) fn parts_of_global(
        &mut self,
        code: &mut Vec<Instruction>,
        dims: &mut [[Word; 3]; 3],
        d: usize,
    ) {
        let size = self.writer.constant(self.size[d]);
        dims[1][d] = self.writer.math(code, Op::UDiv, dims[0][d], size);
        dims[2][d] = self.writer.math(code, Op::UMod, dims[0][d], size);
    }
}
