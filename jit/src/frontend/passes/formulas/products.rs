//! Products of vectors and matrices as products and sums of their components, from the first on.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::writer::{Parts, Writer};

/// Whether an instruction sums products up.
pub(super) fn is_product(op: Op) -> bool {
    matches!(op, Op::Dot | Op::MatrixTimesVector | Op::VectorTimesMatrix | Op::MatrixTimesMatrix)
}

/// An operand, as far as its type says.
enum Shape {
    Vector(usize),
    Matrix { columns: usize, rows: usize },
}

impl Writer {
    /// What computes the same as `inst`, or `None` if its operands are not what they have to be.
    pub(super) fn product(&mut self, inst: &Instruction) -> Option<Vec<Instruction>> {
        let (ty, id) = (inst.result_type?, inst.result_id?);
        let &[Operand::IdRef(a), Operand::IdRef(b)] = inst.operands.as_slice() else { return None };
        // Every operand before anything is written, so that nothing is left behind.
        let fits = match (inst.class.opcode, self.operand(a)?, self.operand(b)?) {
            (Op::Dot, Shape::Vector(x), Shape::Vector(y)) => x == y,
            (Op::MatrixTimesVector, Shape::Matrix { columns, .. }, Shape::Vector(count)) => columns == count,
            (Op::VectorTimesMatrix, Shape::Vector(count), Shape::Matrix { rows, .. }) => rows == count,
            (Op::MatrixTimesMatrix, Shape::Matrix { columns, .. }, Shape::Matrix { rows, .. }) => {
                columns == rows
            }
            _ => false,
        };
        if !fits {
            return None;
        }
        match inst.class.opcode {
            Op::Dot => {
                let (x, y) = (self.parts(a)?, self.parts(b)?);
                let ids = vec![self.dot(&x, &y)];
                self.finish(&Parts { scalar: x.scalar, ids }, ty, id);
            }
            Op::MatrixTimesVector => {
                let (matrix, vector) = (self.columns(a)?, self.parts(b)?);
                let result = self.times(&matrix, &vector);
                self.finish(&result, ty, id);
            }
            Op::VectorTimesMatrix => {
                let (vector, matrix) = (self.parts(a)?, self.columns(b)?);
                let ids = matrix.iter().map(|column| self.dot(&vector, column)).collect();
                self.finish(&Parts { scalar: vector.scalar, ids }, ty, id);
            }
            _ => {
                let (column, _) = *self.matrices.get(&ty)?;
                let (left, right) = (self.columns(a)?, self.columns(b)?);
                let columns = right.iter().map(|vector| {
                    let product = self.times(&left, vector);
                    let parts = product.ids.iter().map(|&id| Operand::IdRef(id)).collect();
                    Operand::IdRef(self.value(Op::CompositeConstruct, column, parts))
                });
                let columns = columns.collect();
                self.lines.push(Instruction::new(Op::CompositeConstruct, Some(ty), Some(id), columns));
            }
        }
        Some(std::mem::take(&mut self.lines))
    }

    /// A matrix, by its columns, times a vector.
    fn times(&mut self, matrix: &[Parts], vector: &Parts) -> Parts {
        let scalar = vector.scalar;
        let rows = matrix.first().map_or(0, |column| column.ids.len());
        let row = |at: usize| Parts { scalar, ids: matrix.iter().map(|column| column.ids[at]).collect() };
        let ids = (0..rows).map(|at| self.dot(&row(at), vector)).collect();
        Parts { scalar, ids }
    }

    fn operand(&self, value: Word) -> Option<Shape> {
        let ty = self.types.get(&value)?;
        let components = |ty| self.shape(ty).map(|(_, count)| count as usize).filter(|count| *count > 1);
        match self.matrices.get(ty) {
            Some(&(column, columns)) => {
                Some(Shape::Matrix { columns: columns as usize, rows: components(column)? })
            }
            None => Some(Shape::Vector(components(*ty)?)),
        }
    }

    fn columns(&mut self, value: Word) -> Option<Vec<Parts>> {
        let (column, count) = *self.matrices.get(self.types.get(&value)?)?;
        let (scalar, rows) = self.shape(column)?;
        let component = |w: &mut Self, at: u32, row: u32| {
            let at = [at, row].map(Operand::LiteralBit32);
            w.value(Op::CompositeExtract, scalar, [vec![Operand::IdRef(value)], at.to_vec()].concat())
        };
        let column =
            |w: &mut Self, at| Parts { scalar, ids: (0..rows).map(|row| component(w, at, row)).collect() };
        Some((0..count).map(|at| column(self, at)).collect())
    }
}
