//! Choices of a definition, and loads on one side of a branch, without the branch.
//!
//! Where the producer's item would not load, the first element is loaded: that is bound, and the choice that the branch ends in takes
//! the other value. So the consumer keeps its control flow, and loads of several elements need not wait for each other.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::{Copy, width};
use crate::rewrite::writer::Result;

impl Copy<'_> {
    /// One of two values, where control comes from either side.
    pub(super) fn choice(
        &mut self,
        code: &mut Vec<Instruction>,
        phi: &Instruction,
        [condition, yes, no]: [Word; 3],
    ) -> Result<()> {
        let (old, ty) = phi.result_id.zip(phi.result_type).ok_or("an instruction without a result")?;
        let condition = self.value(condition)?;
        let condition = self.for_all_parts(code, condition, ty);
        let operands = [condition, self.value(yes)?, self.value(no)?];
        let ty = self.import.global(&mut self.writer, ty)?;
        let new = self.writer.apply(code, Op::Select, ty, &operands);
        self.import.decorate(&mut self.writer, old, new);
        self.values.insert(old, new);
        Ok(())
    }

    /// A load of an element that the producer executes where each of these values is true, or not true.
    pub(super) fn guarded(
        &mut self,
        code: &mut Vec<Instruction>,
        load: &Instruction,
        where_all: &[(Word, bool)],
    ) -> Result<()> {
        let mut happens = None;
        for &(condition, holds) in where_all {
            let mut own = self.value(condition)?;
            if !holds {
                let truth = self.writer.bool();
                own = self.writer.apply(code, Op::LogicalNot, truth, &[own]);
            }
            happens = Some(match happens {
                Some(others) => self.writer.test(code, Op::LogicalAnd, others, own),
                None => own,
            });
        }
        match load.class.opcode {
            Op::Load => self.element_where(code, load, happens),
            _ => self.of_image(code, load, happens),
        }
    }

    /// The coordinates of a texel where it is read, and those of the first one elsewhere.
    pub(super) fn coordinates_where(
        &mut self,
        code: &mut Vec<Instruction>,
        coordinates: Word,
        happens: Word,
    ) -> Result<Word> {
        let own = self.value(coordinates)?;
        if mutant!(LoadsHaveNoConditions) {
            return Ok(own);
        }
        let ty = self.import.type_of(coordinates).ok_or("coordinates of no type")?;
        let happens = self.for_all_parts(code, happens, ty);
        let ty = self.import.global(&mut self.writer, ty)?;
        let zero = self.writer.global(Op::ConstantNull, Some(ty), Vec::new());
        let chosen = self.writer.fresh();
        let operands = [happens, own, zero].map(Operand::IdRef).to_vec();
        code.push(Instruction::new(Op::Select, Some(ty), Some(chosen), operands));
        Ok(chosen)
    }

    /// The index of an element where it is loaded, and zero elsewhere.
    pub(super) fn index_where(
        &mut self,
        code: &mut Vec<Instruction>,
        index: Word,
        happens: Word,
    ) -> Result<Word> {
        let own = self.value(index)?;
        let ty = self.import.type_of(index).ok_or("an index of no type")?;
        if width(self.imported, ty) != Some(32) {
            return Err("an index of another width than 32 bits");
        }
        if mutant!(LoadsHaveNoConditions) {
            return Ok(own);
        }
        let ty = self.import.global(&mut self.writer, ty)?;
        let zero = self.writer.global(Op::Constant, Some(ty), vec![Operand::LiteralBit32(0)]);
        Ok(self.writer.apply(code, Op::Select, ty, &[happens, own, zero]))
    }
}
