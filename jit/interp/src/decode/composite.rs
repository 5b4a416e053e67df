//! Composites, shuffles, selections, bit fields.

use rspirv::spirv::Op;

use super::scan::Raw;
use super::shape::Type;
use super::{Decoded, Decoder};
use crate::arith::Ternary;
use crate::program::Inst;

impl Decoder<'_> {
    /// Decodes an instruction that rearranges lanes; false if it is none.
    pub(super) fn composite(&mut self, raw: &Raw<'_>, dst: u32, n: u32) -> Decoded<bool> {
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
}
