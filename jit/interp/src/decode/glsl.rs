//! The GLSL.std.450 extended instruction set.

use rspirv::spirv::GlslStd450Op as Glsl;

use super::scan::Raw;
use super::{Decoded, Decoder};
use crate::arith::{Binary, Pack, Ternary, Unary};
use crate::error::OracleError;
use crate::program::Inst;

fn unary(op: Glsl) -> Option<Unary> {
    Some(match op {
        // Either neighbour is right for halves in `Round`.
        Glsl::Round | Glsl::RoundEven => Unary::RoundEven,
        Glsl::Trunc => Unary::Trunc,
        Glsl::FAbs => Unary::FAbs,
        Glsl::SAbs => Unary::Abs,
        Glsl::FSign => Unary::FSign,
        Glsl::SSign => Unary::Sign,
        Glsl::Floor => Unary::Floor,
        Glsl::Ceil => Unary::Ceil,
        Glsl::Fract => Unary::Fract,
        Glsl::Radians => Unary::Radians,
        Glsl::Degrees => Unary::Degrees,
        Glsl::Sin => Unary::Sin,
        Glsl::Cos => Unary::Cos,
        Glsl::Tan => Unary::Tan,
        Glsl::Asin => Unary::Asin,
        Glsl::Acos => Unary::Acos,
        Glsl::Atan => Unary::Atan,
        Glsl::Sinh => Unary::Sinh,
        Glsl::Cosh => Unary::Cosh,
        Glsl::Tanh => Unary::Tanh,
        Glsl::Asinh => Unary::Asinh,
        Glsl::Acosh => Unary::Acosh,
        Glsl::Atanh => Unary::Atanh,
        Glsl::Exp => Unary::Exp,
        Glsl::Log => Unary::Log,
        Glsl::Exp2 => Unary::Exp2,
        Glsl::Log2 => Unary::Log2,
        Glsl::Sqrt => Unary::Sqrt,
        Glsl::InverseSqrt => Unary::InverseSqrt,
        Glsl::FindILsb => Unary::FindILsb,
        Glsl::FindSMsb => Unary::FindSMsb,
        Glsl::FindUMsb => Unary::FindUMsb,
        _ => return None,
    })
}

fn binary(op: Glsl) -> Option<Binary> {
    Some(match op {
        Glsl::FMin => Binary::FMin,
        Glsl::UMin => Binary::UMin,
        Glsl::SMin => Binary::SMin,
        Glsl::FMax => Binary::FMax,
        Glsl::UMax => Binary::UMax,
        Glsl::SMax => Binary::SMax,
        Glsl::NMin => Binary::NMin,
        Glsl::NMax => Binary::NMax,
        Glsl::Atan2 => Binary::Atan2,
        Glsl::Pow => Binary::Pow,
        Glsl::Step => Binary::Step,
        Glsl::Ldexp => Binary::Ldexp,
        _ => return None,
    })
}

fn ternary(op: Glsl) -> Option<Ternary> {
    Some(match op {
        Glsl::FClamp => Ternary::FClamp,
        Glsl::UClamp => Ternary::UClamp,
        Glsl::SClamp => Ternary::SClamp,
        Glsl::NClamp => Ternary::NClamp,
        Glsl::FMix => Ternary::FMix,
        Glsl::SmoothStep => Ternary::SmoothStep,
        Glsl::Fma => Ternary::Fma,
        _ => return None,
    })
}

fn pack(op: Glsl) -> Option<Pack> {
    Some(match op {
        Glsl::PackSnorm4x8 => Pack::PackSnorm4x8,
        Glsl::PackUnorm4x8 => Pack::PackUnorm4x8,
        Glsl::PackSnorm2x16 => Pack::PackSnorm2x16,
        Glsl::PackUnorm2x16 => Pack::PackUnorm2x16,
        Glsl::PackHalf2x16 => Pack::PackHalf2x16,
        Glsl::PackDouble2x32 => Pack::PackDouble2x32,
        Glsl::UnpackSnorm4x8 => Pack::UnpackSnorm4x8,
        Glsl::UnpackUnorm4x8 => Pack::UnpackUnorm4x8,
        Glsl::UnpackSnorm2x16 => Pack::UnpackSnorm2x16,
        Glsl::UnpackUnorm2x16 => Pack::UnpackUnorm2x16,
        Glsl::UnpackHalf2x16 => Pack::UnpackHalf2x16,
        Glsl::UnpackDouble2x32 => Pack::UnpackDouble2x32,
        _ => return None,
    })
}

impl<'w> Decoder<'w> {
    /// `OpExtInst`: of GLSL.std.450, or of a set without effect.
    pub(super) fn extended(&mut self, raw: &Raw<'w>) -> Decoded<()> {
        let set = raw.arg(0)?;
        if self.quiet_sets.contains(&set) {
            return Ok(());
        }
        if !self.glsl_sets.contains(&set) {
            return Err(raw.unsupported("only GLSL.std.450 is, of the extended instruction sets"));
        }
        let number = raw.arg(1)?;
        let op = Glsl::from_u32(number).ok_or_else(|| raw.unsupported("its instruction is not known"))?;
        let inner = Raw { args: raw.rest(2), ..*raw };
        if self.glsl(&inner, op)? {
            return Ok(());
        }
        let instruction = format!("GLSL.std.450 {op:?}");
        Err(OracleError::unsupported(instruction, raw.word as usize, "it is outside the subset"))
    }

    fn glsl(&mut self, raw: &Raw<'_>, op: Glsl) -> Decoded<bool> {
        let dst = self.register(raw.id, raw)?;
        let n = self.shapes.lanes(raw.ty);
        let (a, num) = self.operand(raw, 0)?;
        if let Some(op) = unary(op) {
            self.emit(raw, Inst::Unary { op, num, dst, a, n });
        } else if let Some(op) = binary(op) {
            let (b, _) = self.operand(raw, 1)?;
            self.emit(raw, Inst::Binary { op, num, splat: false, dst, a, b, n });
        } else if let Some(op) = ternary(op) {
            let (b, _) = self.operand(raw, 1)?;
            let (c, _) = self.operand(raw, 2)?;
            self.emit(raw, Inst::Ternary { op, num, dst, a, b, c, n });
        } else if let Some(op) = pack(op) {
            if (self.operand_lanes(raw, 0)?, n) != op.lanes() {
                return Err(raw.malformed("the operand has the wrong size"));
            }
            self.emit(raw, Inst::Pack { op, dst, a });
        } else {
            return Ok(self.split(raw, op, num, dst, a)? || self.geometry(raw, op, num, dst, a, n)?);
        }
        Ok(true)
    }
}
