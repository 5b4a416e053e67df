//! Row and column of an element, where its index is made of them: quotients and remainders that need no division.
//!
//! # Requires
//! - an index that is `row length + column` with a column below the length, and divisions of it by that length
//!   (`plan::rewrites::epilogue::rows`)

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::Copy;
use crate::analysis::quotients::products;
use crate::frontend::defs::Defs;
use crate::rewrite::writer::Result;

/// Stores whose index is made of row and column, and what a consumer need not divide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    /// Of each store, if its index is.
    pub(crate) of: Vec<Option<RowOf>>,
    /// The consumer's divisions of the index by the length, by block and position.
    pub(crate) quotients: Vec<(usize, usize)>,
    /// The digits of the index are row and column.
    pub(crate) digits: bool,
}

/// Where the row is in the sum that an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowOf {
    /// The number of the product that it is a factor of, and which.
    pub(crate) product: usize,
    pub(crate) factor: usize,
}

/// The row of an index, and its product with the length.
#[derive(Clone, Copy)]
pub(super) struct Row {
    row: (Word, Word),
    product: (Word, Word),
}

impl Rows {
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        let Self { of, quotients, digits } = self;
        let each = of.iter().map(|row| row.map_or(0, |row| 1 + 2 * row.product + row.factor));
        let all = [usize::from(*digits), of.len()].into_iter().chain(each);
        all.chain(quotients.iter().flat_map(|&(block, position)| [block, position]))
    }
}

impl RowOf {
    /// The row of an index.
    pub(super) fn find(self, index: Word, defs: &Defs) -> Option<Row> {
        let product = *products(index, |id| defs.get(id)).get(self.product)?;
        let row = product.factors[self.factor];
        Some(Row { row: (row, defs.type_of(row)?), product: (product.id, defs.type_of(product.id)?) })
    }
}

impl Copy<'_> {
    /// Row and column of an index.
    pub(super) fn row_of(&mut self, code: &mut Vec<Instruction>, index: Word, of: Row) -> [Word; 2] {
        let u32 = self.writer.u32();
        let row = self.writer.cast(code, of.row.0, of.row.1, u32);
        let product = self.writer.cast(code, of.product.0, of.product.1, u32);
        [row, self.writer.math(code, Op::ISub, index, product)]
    }

    /// A quotient or a remainder of the index by the length of a row.
    pub(super) fn quotient(
        &mut self,
        code: &mut Vec<Instruction>,
        inst: &Instruction,
        [row, column]: [Word; 2],
    ) -> Result<()> {
        let (old, ty) = inst.result_id.zip(inst.result_type).ok_or("a division without a result")?;
        let value = if matches!(inst.class.opcode, Op::UDiv | Op::SDiv) { row } else { column };
        let (new, ty) = (self.value(old)?, self.import.global(&mut self.writer, ty)?);
        let op = if ty == self.writer.u32() { Op::CopyObject } else { Op::Bitcast };
        code.push(Instruction::new(op, Some(ty), Some(new), vec![Operand::IdRef(value)]));
        Ok(())
    }
}
