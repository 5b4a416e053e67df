//! Row and column of an element, where its index is made of them: quotients and remainders that need no division.
//!
//! # Requires
//! - an index that is `row length + column` with a column below the length, and divisions of it by that length
//!   (`plan::rewrites::rows`)

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::Copy;
use crate::analysis::quotients::products;
use crate::frontend::defs::Defs;
use crate::rewrite::writer::Result;

/// Accesses whose index is made of row and column, and what the other kernel need not divide: a consumer behind stores, a producer at loads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    /// Of each access, if its index is.
    pub(crate) of: Vec<Option<RowOf>>,
    /// The other kernel's divisions of the index by the length, by block and position.
    pub(crate) quotients: Vec<(usize, usize)>,
    /// The heaviest digit of the index is the row, and the others make up the column.
    pub(crate) digits: bool,
}

/// Where the row is in the sum that an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowOf {
    /// The number of the product that it is a factor of, and which.
    pub(crate) product: usize,
    pub(crate) factor: usize,
}

/// The row of an index, its product with the length, and what is added to that, if this is one value. Each has its type.
#[derive(Clone, Copy)]
pub(super) struct Row {
    row: (Word, Word),
    product: (Word, Word),
    column: Option<(Word, Word)>,
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
        let typed = |id: Word| Some((id, defs.type_of(id)?));
        let sum = defs.get(index).filter(|inst| inst.class.opcode == Op::IAdd);
        let terms = sum.map(|sum| [0, 1].map(|at| sum.operands[at].id_ref_any()));
        let column = match terms {
            Some([Some(first), Some(second)]) if first == product.id => typed(second),
            Some([Some(first), Some(second)]) if second == product.id => typed(first),
            _ => None,
        };
        Some(Row { row: typed(row)?, product: typed(product.id)?, column })
    }
}

impl Copy<'_> {
    /// Row and column of an index.
    pub(super) fn row_of(&mut self, code: &mut Vec<Instruction>, index: Word, of: Row) -> [Word; 2] {
        let u32 = self.writer.u32();
        let row = self.writer.cast(code, of.row.0, of.row.1, u32);
        let column = match of.column {
            Some((column, ty)) => self.writer.cast(code, column, ty, u32),
            None => {
                let product = self.writer.cast(code, of.product.0, of.product.1, u32);
                self.writer.math(code, Op::ISub, index, product)
            }
        };
        [row, column]
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
        let ty = self.import.global(&mut self.writer, ty)?;
        let new = *self.values.entry(old).or_insert_with(|| self.writer.fresh());
        let op = if ty == self.writer.u32() { Op::CopyObject } else { Op::Bitcast };
        code.push(Instruction::new(op, Some(ty), Some(new), vec![Operand::IdRef(value)]));
        Ok(())
    }
}
