//! GLSL.std.450 instructions that take several steps: lengths and products of vectors, and those with two
//! results.

use rspirv::spirv::GlslStd450Op as Glsl;

use super::scan::Raw;
use super::{Decoded, Decoder};
use crate::arith::{Binary, Num, Unary};
use crate::program::Inst;

impl Decoder<'_> {
    /// `modf` and `frexp`, in both their forms: two results.
    pub(super) fn split(&mut self, raw: &Raw<'_>, op: Glsl, num: Num, dst: u32, a: u32) -> Decoded<bool> {
        let n = self.operand_lanes(raw, 0)?;
        let through_pointer = matches!(op, Glsl::Modf | Glsl::Frexp);
        let second = if through_pointer { self.allocate(n)? } else { dst + n };
        match op {
            Glsl::Modf | Glsl::ModfStruct => {
                self.emit(raw, Inst::Unary { op: Unary::Trunc, num, dst: second, a, n });
                self.emit(raw, Inst::Binary { op: Binary::Modf, num, splat: false, dst, a, b: second, n });
            }
            Glsl::Frexp | Glsl::FrexpStruct => {
                self.emit(raw, Inst::Unary { op: Unary::FrexpExponent, num, dst: second, a, n });
                self.emit(raw, Inst::Unary { op: Unary::FrexpSignificand, num, dst, a, n });
            }
            _ => return Ok(false),
        }
        if through_pointer {
            self.store(raw, raw.arg(1)?, second)?;
        }
        Ok(true)
    }

    pub(super) fn geometry(
        &mut self,
        raw: &Raw<'_>,
        op: Glsl,
        num: Num,
        dst: u32,
        a: u32,
        n: u32,
    ) -> Decoded<bool> {
        match op {
            Glsl::Length => {
                let len = self.operand_lanes(raw, 0)?;
                self.length(raw, num, dst, a, len)?;
            }
            Glsl::Distance => {
                let len = self.operand_lanes(raw, 0)?;
                let (b, _) = self.operand(raw, 1)?;
                let difference = self.allocate(len)?;
                let inst =
                    Inst::Binary { op: Binary::FSub, num, splat: false, dst: difference, a, b, n: len };
                self.emit(raw, inst);
                self.length(raw, num, dst, difference, len)?;
            }
            Glsl::Normalize => {
                let length = self.allocate(1)?;
                self.length(raw, num, length, a, n)?;
                self.emit(raw, Inst::Binary { op: Binary::FDiv, num, splat: true, dst, a, b: length, n });
            }
            Glsl::Cross if n == 3 => {
                let (b, _) = self.operand(raw, 1)?;
                let [left, right, turned] = [self.allocate(3)?, self.allocate(3)?, self.allocate(6)?];
                let (first, count) = self.gather([a + 1, a + 2, a, b + 2, b, b + 1]);
                self.emit(raw, Inst::Gather { dst: turned, first, n: count });
                let times = |dst, a, b| Inst::Binary { op: Binary::FMul, num, splat: false, dst, a, b, n: 3 };
                self.emit(raw, times(left, turned, turned + 3));
                let (first, count) = self.gather([a + 2, a, a + 1, b + 1, b + 2, b]);
                self.emit(raw, Inst::Gather { dst: turned, first, n: count });
                self.emit(raw, times(right, turned, turned + 3));
                let inst = Inst::Binary { op: Binary::FSub, num, splat: false, dst, a: left, b: right, n };
                self.emit(raw, inst);
            }
            Glsl::FaceForward => {
                let ((incident, _), (reference, _)) = (self.operand(raw, 1)?, self.operand(raw, 2)?);
                let [dot, zero, keep, flipped] =
                    [self.allocate(1)?, self.allocate(1)?, self.allocate(1)?, self.allocate(n)?];
                self.emit(
                    raw,
                    Inst::Dot { num, dst: dot, a: incident, a_step: 1, b: reference, b_step: 1, n },
                );
                let inst = Inst::Binary {
                    op: Binary::FOrdLess,
                    num,
                    splat: false,
                    dst: keep,
                    a: dot,
                    b: zero,
                    n: 1,
                };
                self.emit(raw, inst);
                self.emit(raw, Inst::Unary { op: Unary::FNeg, num, dst: flipped, a, n });
                self.emit(raw, Inst::Select { splat: true, dst, c: keep, a, b: flipped, n });
            }
            Glsl::Reflect => {
                // I - 2 * dot(N, I) * N
                let (normal, _) = self.operand(raw, 1)?;
                let [dot, scaled] = [self.allocate(1)?, self.allocate(n)?];
                self.emit(raw, Inst::Dot { num, dst: dot, a: normal, a_step: 1, b: a, b_step: 1, n });
                let inst =
                    Inst::Binary { op: Binary::FAdd, num, splat: false, dst: dot, a: dot, b: dot, n: 1 };
                self.emit(raw, inst);
                let inst =
                    Inst::Binary { op: Binary::FMul, num, splat: true, dst: scaled, a: normal, b: dot, n };
                self.emit(raw, inst);
                let inst = Inst::Binary { op: Binary::FSub, num, splat: false, dst, a, b: scaled, n };
                self.emit(raw, inst);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn length(&mut self, raw: &Raw<'_>, num: Num, dst: u32, a: u32, n: u32) -> Decoded<()> {
        if n == 1 {
            // No square that overflows or vanishes.
            self.emit(raw, Inst::Unary { op: Unary::FAbs, num, dst, a, n });
            return Ok(());
        }
        let square = self.allocate(1)?;
        self.emit(raw, Inst::Dot { num, dst: square, a, a_step: 1, b: a, b_step: 1, n });
        self.emit(raw, Inst::Unary { op: Unary::Sqrt, num, dst, a: square, n: 1 });
        Ok(())
    }
}
