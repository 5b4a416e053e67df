//! Products of vectors and matrices, and dot products of integers. A matrix is its columns, one after the other.

use rspirv::spirv::Op;

use super::scan::Raw;
use super::shape::Type;
use super::{Decoded, Decoder};
use crate::arith::{Binary, IntDot};
use crate::program::Inst;

impl Decoder<'_> {
    /// Decodes a product; false if the instruction is none.
    pub(super) fn linear(&mut self, raw: &Raw<'_>, dst: u32, n: u32) -> Decoded<bool> {
        let products = matches!(
            raw.op,
            Op::Dot
                | Op::VectorTimesScalar
                | Op::MatrixTimesScalar
                | Op::VectorTimesMatrix
                | Op::MatrixTimesVector
                | Op::MatrixTimesMatrix
                | Op::OuterProduct
        );
        if !products {
            return self.int_dot(raw, dst);
        }
        let ((a, num), (b, _)) = (self.operand(raw, 0)?, self.operand(raw, 1)?);
        let (a_lanes, b_lanes) = (self.operand_lanes(raw, 0)?, self.operand_lanes(raw, 1)?);
        match raw.op {
            Op::Dot => self.emit(raw, Inst::Dot { num, dst, a, a_step: 1, b, b_step: 1, n: a_lanes }),
            Op::VectorTimesScalar | Op::MatrixTimesScalar => {
                self.emit(raw, Inst::Binary { op: Binary::FMul, num, splat: true, dst, a, b, n });
            }
            Op::OuterProduct => {
                for j in 0..b_lanes {
                    let dst = dst + j * a_lanes;
                    self.emit(
                        raw,
                        Inst::Binary { op: Binary::FMul, num, splat: true, dst, a, b: b + j, n: a_lanes },
                    );
                }
            }
            _ => {
                // The vector on the left is one row; the vector on the right is one column.
                let inner = self.inner_len(raw)?;
                let rows = if raw.op == Op::VectorTimesMatrix { 1 } else { a_lanes / inner };
                let a_step = if raw.op == Op::VectorTimesMatrix { 1 } else { rows as u16 };
                if rows == 0 {
                    return Err(raw.malformed("factors of different sizes"));
                }
                for i in 0..n {
                    let (column, row) = (i / rows, i % rows);
                    let (a, b) = (a + row, b + column * inner);
                    self.emit(raw, Inst::Dot { num, dst: dst + i, a, a_step, b, b_step: 1, n: inner });
                }
            }
        }
        Ok(true)
    }

    /// Decodes a dot product of integers; false if the instruction is none.
    fn int_dot(&mut self, raw: &Raw<'_>, dst: u32) -> Decoded<bool> {
        let (signed, saturates) = match raw.op {
            Op::SDot => ([true; 2], false),
            Op::UDot => ([false; 2], false),
            Op::SUDot => ([true, false], false),
            Op::SDotAccSat => ([true; 2], true),
            Op::UDotAccSat => ([false; 2], true),
            Op::SUDotAccSat => ([true, false], true),
            _ => return Ok(false),
        };
        let ((a, num), (b, _)) = (self.operand(raw, 0)?, self.operand(raw, 1)?);
        let n = self.operand_lanes(raw, 0)?;
        let add = if saturates { self.operand(raw, 2)?.0 } else { 0 };
        // The vectors are words of four bytes where they are no vectors.
        let (packed, from, to) = (n == 1, num.bits() as u8, self.shapes.bits(raw.ty, raw)? as u8);
        let n = u8::try_from(n).map_err(|_| raw.malformed("vectors of more components than there are"))?;
        let how = IntDot { signed, packed, saturates, from, to };
        self.emit(raw, Inst::IntDot { how, dst, a, b, add, n });
        Ok(true)
    }

    /// Columns of the left factor, which is the length of the right one's columns.
    fn inner_len(&self, raw: &Raw<'_>) -> Decoded<u32> {
        let left = self.value_type(raw.arg(0)?, raw)?;
        let len = match self.shapes.get(left) {
            Type::Matrix { len, .. } | Type::Vector { len, .. } => *len,
            _ => 0,
        };
        if len == 0 { Err(raw.malformed("not a vector or matrix")) } else { Ok(len) }
    }
}
