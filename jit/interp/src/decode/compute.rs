//! Arithmetic, comparisons, conversions: whatever has no effect but its result.

use rspirv::spirv::Op;

use super::scan::Raw;
use super::{Decoded, Decoder};
use crate::arith::{Binary, Num, Unary, Wide};
use crate::program::Inst;

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
}
