//! Arithmetic, comparisons, conversions, composites: whatever has no effect but its result.

use rspirv::spirv::Op;

use super::scan::Raw;
use super::shape::Type;
use super::{Decoded, Decoder};
use crate::oracle::arith::{Binary, Num, Ternary, Unary, Wide};
use crate::oracle::program::Inst;

/// Operations of one operand.
fn unary(op: Op) -> Option<Unary> {
    Some(match op {
        Op::SNegate => Unary::Neg,
        Op::FNegate => Unary::FNeg,
        Op::Not => Unary::Not,
        Op::LogicalNot => Unary::LogicalNot,
        Op::BitReverse => Unary::BitReverse,
        Op::BitCount => Unary::BitCount,
        Op::IsNan => Unary::IsNan,
        Op::IsInf => Unary::IsInf,
        Op::QuantizeToF16 => Unary::QuantizeToF16,
        _ => return None,
    })
}

/// Operations of two operands, and whether they are to be swapped.
fn binary(op: Op) -> Option<(Binary, bool)> {
    let straight = |op| Some((op, false));
    let swapped = |op| Some((op, true));
    match op {
        Op::IAdd => straight(Binary::Add),
        Op::ISub => straight(Binary::Sub),
        Op::IMul => straight(Binary::Mul),
        Op::UDiv => straight(Binary::UDiv),
        Op::SDiv => straight(Binary::SDiv),
        Op::UMod => straight(Binary::UMod),
        Op::SRem => straight(Binary::SRem),
        Op::SMod => straight(Binary::SMod),
        Op::FAdd => straight(Binary::FAdd),
        Op::FSub => straight(Binary::FSub),
        Op::FMul => straight(Binary::FMul),
        Op::FDiv => straight(Binary::FDiv),
        Op::FRem => straight(Binary::FRem),
        Op::FMod => straight(Binary::FMod),
        Op::ShiftLeftLogical => straight(Binary::Shl),
        Op::ShiftRightLogical => straight(Binary::Shr),
        Op::ShiftRightArithmetic => straight(Binary::Sar),
        Op::BitwiseAnd | Op::LogicalAnd => straight(Binary::And),
        Op::BitwiseOr | Op::LogicalOr => straight(Binary::Or),
        Op::BitwiseXor => straight(Binary::Xor),
        Op::IEqual | Op::LogicalEqual => straight(Binary::Equal),
        Op::INotEqual | Op::LogicalNotEqual => straight(Binary::NotEqual),
        Op::ULessThan => straight(Binary::ULess),
        Op::ULessThanEqual => straight(Binary::ULessEqual),
        Op::UGreaterThan => swapped(Binary::ULess),
        Op::UGreaterThanEqual => swapped(Binary::ULessEqual),
        Op::SLessThan => straight(Binary::SLess),
        Op::SLessThanEqual => straight(Binary::SLessEqual),
        Op::SGreaterThan => swapped(Binary::SLess),
        Op::SGreaterThanEqual => swapped(Binary::SLessEqual),
        Op::FOrdEqual => straight(Binary::FOrdEqual),
        Op::FUnordEqual => straight(Binary::FUnordEqual),
        Op::FOrdNotEqual | Op::LessOrGreater => straight(Binary::FOrdNotEqual),
        Op::FUnordNotEqual => straight(Binary::FUnordNotEqual),
        Op::FOrdLessThan => straight(Binary::FOrdLess),
        Op::FUnordLessThan => straight(Binary::FUnordLess),
        Op::FOrdLessThanEqual => straight(Binary::FOrdLessEqual),
        Op::FUnordLessThanEqual => straight(Binary::FUnordLessEqual),
        Op::FOrdGreaterThan => swapped(Binary::FOrdLess),
        Op::FUnordGreaterThan => swapped(Binary::FUnordLess),
        Op::FOrdGreaterThanEqual => swapped(Binary::FOrdLessEqual),
        Op::FUnordGreaterThanEqual => swapped(Binary::FUnordLessEqual),
        Op::Ordered => straight(Binary::FOrdered),
        Op::Unordered => straight(Binary::FUnordered),
        _ => None,
    }
}

fn wide(op: Op) -> Option<Wide> {
    Some(match op {
        Op::IAddCarry => Wide::AddCarry,
        Op::ISubBorrow => Wide::SubBorrow,
        Op::UMulExtended => Wide::UMulExtended,
        Op::SMulExtended => Wide::SMulExtended,
        _ => return None,
    })
}

fn signed(num: Num) -> Num {
    if let Num::Int(bits) = num { Num::Signed(bits) } else { num }
}

impl Decoder<'_> {
    /// Register and scalar type of an operand.
    pub(super) fn operand(&mut self, raw: &Raw<'_>, index: usize) -> Decoded<(u32, Num)> {
        let id = raw.arg(index)?;
        let register = self.register(id, raw)?;
        let ty = self.value_type(id, raw)?;
        Ok((register, self.shapes.num(ty, raw)?))
    }

    /// Lanes of an operand.
    pub(super) fn operand_lanes(&self, raw: &Raw<'_>, index: usize) -> Decoded<u32> {
        Ok(self.shapes.lanes(self.value_type(raw.arg(index)?, raw)?))
    }

    /// Decodes an instruction without effects; false if it is none.
    pub(super) fn compute(&mut self, raw: &Raw<'_>) -> Decoded<bool> {
        if raw.id == 0 || raw.ty == 0 {
            return Ok(false);
        }
        let dst = self.register(raw.id, raw)?;
        let n = self.shapes.lanes(raw.ty);
        if let Some(op) = unary(raw.op) {
            let (a, num) = self.operand(raw, 0)?;
            self.emit(raw, Inst::Unary { op, num, dst, a, n });
        } else if let Some((op, swapped)) = binary(raw.op) {
            let (mut a, num) = self.operand(raw, 0)?;
            let (mut b, _) = self.operand(raw, 1)?;
            if swapped {
                (a, b) = (b, a);
            }
            self.emit(raw, Inst::Binary { op, num, splat: false, dst, a, b, n });
        } else if let Some(op) = wide(raw.op) {
            let ((a, num), (b, _)) = (self.operand(raw, 0)?, self.operand(raw, 1)?);
            self.emit(raw, Inst::Wide { op, num, dst, a, b, n: n / 2 });
        } else {
            return match self.convert(raw, dst, n)? {
                true => Ok(true),
                false => Ok(self.composite(raw, dst, n)? || self.linear(raw, dst, n)?),
            };
        }
        Ok(true)
    }

    fn convert(&mut self, raw: &Raw<'_>, dst: u32, n: u32) -> Decoded<bool> {
        let target = |decoder: &Self| decoder.shapes.num(raw.ty, raw);
        let (from, to) = match raw.op {
            Op::ConvertFToU | Op::UConvert | Op::FConvert | Op::ConvertUToF => {
                (self.operand(raw, 0)?.1, target(self)?)
            }
            Op::ConvertFToS => (self.operand(raw, 0)?.1, signed(target(self)?)),
            Op::ConvertSToF | Op::SConvert => (signed(self.operand(raw, 0)?.1), target(self)?),
            Op::Bitcast => {
                let (a, from) = self.operand(raw, 0)?;
                let to = target(self)?;
                let inst = if from.bits() == to.bits() {
                    Inst::Move { dst, src: a, n }
                } else {
                    Inst::Regroup { dst, a, from: from.bits() as u8, to: to.bits() as u8, n }
                };
                self.emit(raw, inst);
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let (a, _) = self.operand(raw, 0)?;
        self.emit(raw, Inst::Convert { from, to, dst, a, n });
        Ok(true)
    }

    fn composite(&mut self, raw: &Raw<'_>, dst: u32, n: u32) -> Decoded<bool> {
        match raw.op {
            // Usually these share registers with their operand; then nothing is left to do.
            Op::CompositeExtract | Op::CopyObject | Op::CopyLogical | Op::ExpectKHR => {
                let id = raw.arg(0)?;
                let path = if raw.op == Op::CompositeExtract { raw.rest(1) } else { &[] };
                let (_, lane) = self.shapes.path(self.value_type(id, raw)?, path, raw)?;
                let src = self.register(id, raw)? + lane;
                if src != dst {
                    self.emit(raw, Inst::Move { dst, src, n });
                }
                self.views[raw.id as usize] = self.views[id as usize];
            }
            Op::CompositeConstruct => {
                let mut lanes = Vec::new();
                for &id in raw.args {
                    let first = self.register(id, raw)?;
                    let count = self.shapes.lanes(self.value_type(id, raw)?);
                    lanes.extend(first..first + count);
                }
                self.gather_into(raw, dst, n, lanes)?;
            }
            Op::CompositeInsert => {
                let (part, whole) = (raw.arg(0)?, raw.arg(1)?);
                let (ty, lane) = self.shapes.path(raw.ty, raw.rest(2), raw)?;
                let (part, whole) = (self.register(part, raw)?, self.register(whole, raw)?);
                let inserted = lane..lane + self.shapes.lanes(ty);
                let pick = |i| if inserted.contains(&i) { part + (i - lane) } else { whole + i };
                self.gather_into(raw, dst, n, (0..n).map(pick).collect())?;
            }
            Op::VectorShuffle => {
                let (a, b) = (self.register(raw.arg(0)?, raw)?, self.register(raw.arg(1)?, raw)?);
                let (a_len, b_len) = (self.operand_lanes(raw, 0)?, self.operand_lanes(raw, 1)?);
                let undefined = self.allocate_garbage(raw.ty)?;
                let pick = |&component: &u32| match component {
                    u32::MAX => Ok(undefined),
                    _ if component < a_len => Ok(a + component),
                    _ if component - a_len < b_len => Ok(b + component - a_len),
                    _ => Err(raw.malformed("a component outside both vectors")),
                };
                let lanes = raw.rest(2).iter().map(pick).collect::<Decoded<Vec<u32>>>()?;
                self.gather_into(raw, dst, n, lanes)?;
            }
            Op::Transpose => {
                let a = self.register(raw.arg(0)?, raw)?;
                // Result columns are as long as the operand has columns.
                let Type::Matrix { of, len: columns } = *self.shapes.get(raw.ty) else {
                    return Err(raw.malformed("not a matrix"));
                };
                let rows = self.shapes.lanes(of);
                let pick = |i: u32| a + (i % rows) * columns + i / rows;
                self.gather_into(raw, dst, n, (0..n).map(pick).collect())?;
            }
            Op::VectorExtractDynamic => {
                let (a, index) = (self.register(raw.arg(0)?, raw)?, self.register(raw.arg(1)?, raw)?);
                let n = self.operand_lanes(raw, 0)?;
                self.emit(raw, Inst::ExtractDynamic { dst, a, index, n });
            }
            Op::VectorInsertDynamic => {
                let a = self.register(raw.arg(0)?, raw)?;
                let value = self.register(raw.arg(1)?, raw)?;
                let index = self.register(raw.arg(2)?, raw)?;
                self.emit(raw, Inst::InsertDynamic { dst, a, value, index, n });
            }
            Op::Select => {
                let c = self.register(raw.arg(0)?, raw)?;
                let splat = self.operand_lanes(raw, 0)? == 1;
                let (a, b) = (self.register(raw.arg(1)?, raw)?, self.register(raw.arg(2)?, raw)?);
                self.emit(raw, Inst::Select { splat, dst, c, a, b, n });
            }
            Op::Any | Op::All => {
                let (a, n) = (self.register(raw.arg(0)?, raw)?, self.operand_lanes(raw, 0)?);
                self.emit(
                    raw,
                    if raw.op == Op::Any { Inst::Any { dst, a, n } } else { Inst::All { dst, a, n } },
                );
            }
            Op::BitFieldInsert => {
                let a = self.register(raw.arg(0)?, raw)?;
                let insert = self.register(raw.arg(1)?, raw)?;
                let (offset, count) = (self.register(raw.arg(2)?, raw)?, self.register(raw.arg(3)?, raw)?);
                for i in 0..n {
                    self.emit(
                        raw,
                        Inst::BitFieldInsert { dst: dst + i, a: a + i, insert: insert + i, offset, count },
                    );
                }
            }
            Op::BitFieldSExtract | Op::BitFieldUExtract => {
                let (a, num) = self.operand(raw, 0)?;
                let (b, c) = (self.register(raw.arg(1)?, raw)?, self.register(raw.arg(2)?, raw)?);
                let signed = raw.op == Op::BitFieldSExtract;
                let op = if signed { Ternary::BitFieldSExtract } else { Ternary::BitFieldUExtract };
                for i in 0..n {
                    self.emit(raw, Inst::Ternary { op, num, dst: dst + i, a: a + i, b, c, n: 1 });
                }
            }
            Op::Undef => {
                let src = self.allocate_garbage(raw.ty)?;
                self.emit(raw, Inst::Move { dst, src, n });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn gather_into(&mut self, raw: &Raw<'_>, dst: u32, n: u32, lanes: Vec<u32>) -> Decoded<()> {
        if lanes.len() != n as usize {
            return Err(raw.malformed("a composite does not fit its type"));
        }
        let (first, n) = self.gather(lanes);
        self.emit(raw, Inst::Gather { dst, first, n });
        Ok(())
    }

    /// Products of vectors and matrices. Matrices are columns one after the other.
    fn linear(&mut self, raw: &Raw<'_>, dst: u32, n: u32) -> Decoded<bool> {
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
            return Ok(false);
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
                for i in 0..n {
                    let (column, row) = (i / rows, i % rows);
                    let (a, b) = (a + row, b + column * inner);
                    self.emit(raw, Inst::Dot { num, dst: dst + i, a, a_step, b, b_step: 1, n: inner });
                }
            }
        }
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
