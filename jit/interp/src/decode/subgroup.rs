//! Sub-group instructions (`OpGroupNonUniform*`).

use rspirv::spirv::{GroupOperation, Op, Scope};

use super::scan::Raw;
use super::{Decoded, Decoder};
use crate::arith::{Binary, Num};
use crate::program::{GroupInst, GroupOp, Inst, Scan};

fn arithmetic(op: Op) -> Option<Binary> {
    Some(match op {
        Op::GroupNonUniformIAdd => Binary::Add,
        Op::GroupNonUniformFAdd => Binary::FAdd,
        Op::GroupNonUniformIMul => Binary::Mul,
        Op::GroupNonUniformFMul => Binary::FMul,
        Op::GroupNonUniformSMin => Binary::SMin,
        Op::GroupNonUniformUMin => Binary::UMin,
        Op::GroupNonUniformFMin => Binary::FMin,
        Op::GroupNonUniformSMax => Binary::SMax,
        Op::GroupNonUniformUMax => Binary::UMax,
        Op::GroupNonUniformFMax => Binary::FMax,
        Op::GroupNonUniformBitwiseAnd | Op::GroupNonUniformLogicalAnd => Binary::And,
        Op::GroupNonUniformBitwiseOr | Op::GroupNonUniformLogicalOr => Binary::Or,
        Op::GroupNonUniformBitwiseXor | Op::GroupNonUniformLogicalXor => Binary::Xor,
        _ => return None,
    })
}

fn plain(op: Op) -> Option<GroupOp> {
    Some(match op {
        Op::GroupNonUniformElect => GroupOp::Elect,
        Op::GroupNonUniformAll => GroupOp::All,
        Op::GroupNonUniformAny => GroupOp::Any,
        Op::GroupNonUniformAllEqual => GroupOp::AllEqual,
        Op::GroupNonUniformBroadcast => GroupOp::Broadcast,
        Op::GroupNonUniformBroadcastFirst => GroupOp::BroadcastFirst,
        Op::GroupNonUniformBallot => GroupOp::Ballot,
        Op::GroupNonUniformInverseBallot => GroupOp::InverseBallot,
        Op::GroupNonUniformBallotBitExtract => GroupOp::BallotBitExtract,
        Op::GroupNonUniformBallotFindLSB => GroupOp::BallotFindLsb,
        Op::GroupNonUniformBallotFindMSB => GroupOp::BallotFindMsb,
        Op::GroupNonUniformShuffle => GroupOp::Shuffle,
        Op::GroupNonUniformShuffleXor => GroupOp::ShuffleXor,
        Op::GroupNonUniformShuffleUp => GroupOp::ShuffleUp,
        Op::GroupNonUniformShuffleDown => GroupOp::ShuffleDown,
        Op::GroupNonUniformQuadBroadcast => GroupOp::QuadBroadcast,
        Op::GroupNonUniformQuadSwap => GroupOp::QuadSwap,
        _ => return None,
    })
}

impl Decoder<'_> {
    /// Decodes a sub-group instruction; false if it is none.
    pub(super) fn subgroup(&mut self, raw: &Raw<'_>) -> Decoded<bool> {
        let (op, first) = if let Some(op) = plain(raw.op) {
            (op, 1)
        } else if let Some(op) = arithmetic(raw.op) {
            (GroupOp::Arithmetic(op, self.scan(raw)?), 2)
        } else if raw.op == Op::GroupNonUniformBallotBitCount {
            (GroupOp::BallotBitCount(self.scan(raw)?), 2)
        } else {
            return Ok(false);
        };
        if self.constant_value(raw.arg(0)?, raw)? != u64::from(Scope::Subgroup as u32) {
            return Err(raw.unsupported("only the sub-group scope is"));
        }
        let dst = self.register(raw.id, raw)?;
        let (a, num, n) = if raw.args.len() > first {
            let (a, num) = self.operand(raw, first)?;
            (a, num, self.operand_lanes(raw, first)?)
        } else {
            (dst, Num::Bool, 1)
        };
        // Which invocation to read from: an id, or how far to go.
        let b = match op {
            GroupOp::Arithmetic(..) => a,
            _ if raw.args.len() > first + 1 => self.register(raw.arg(first + 1)?, raw)?,
            _ => a,
        };
        let index = self.program.groups.len() as u32;
        self.program.groups.push(GroupInst { op, num, dst, a, b, n });
        self.emit(raw, Inst::Subgroup { index });
        Ok(true)
    }

    fn scan(&self, raw: &Raw<'_>) -> Decoded<Scan> {
        match GroupOperation::from_u32(raw.arg(1)?) {
            Some(GroupOperation::Reduce) => Ok(Scan::Reduce),
            Some(GroupOperation::InclusiveScan) => Ok(Scan::Inclusive),
            Some(GroupOperation::ExclusiveScan) => Ok(Scan::Exclusive),
            Some(GroupOperation::ClusteredReduce) => {
                let size = self.constant_value(raw.arg(3)?, raw)?;
                Ok(Scan::Clustered(u32::try_from(size).unwrap_or(u32::MAX).max(1)))
            }
            _ => Err(raw.unsupported("its group operation is not known")),
        }
    }
}
