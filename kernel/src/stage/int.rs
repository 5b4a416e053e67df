//! Integer operations that SPIR-V leaves undefined for some operands, with the meaning that kernels give them.

use rspirv::spirv::Op;

use super::builder::Builder;
use crate::shape::{ScalarType, Shape};

impl Builder {
    /// The divisor, or one where dividing by it is not defined: zero, and minus one below the least number.
    fn divisor(&mut self, ty: ScalarType, a: u32, b: u32) -> u32 {
        let known = self.known(b);
        if known.is_some_and(|b| b != 0 && !(ty.is_signed() && b == u64::MAX)) {
            return b;
        }
        let (zero, one) = (self.scalar(ty, 0), self.scalar(ty, 1));
        let mut bad = self.compare(Op::IEqual, b, zero);
        if ty.is_signed() {
            let (least, minus) = (self.scalar(ty, 1 << (ty.bits() - 1)), self.scalar(ty, u64::MAX));
            let (low, all) = (self.compare(Op::IEqual, a, least), self.compare(Op::IEqual, b, minus));
            let overflows = self.compare(Op::LogicalAnd, low, all);
            bad = self.compare(Op::LogicalOr, bad, overflows);
        }
        let ty = self.scalar_type(ty);
        self.op(Op::Select, ty, &[bad, one, b])
    }

    pub(super) fn divide(&mut self, ty: ScalarType, a: u32, b: u32) -> u32 {
        let b = self.divisor(ty, a, b);
        let op = if ty.is_signed() { Op::SDiv } else { Op::UDiv };
        self.same(op, &Shape::Scalar(ty), &[a, b])
    }

    /// The remainder has the sign of the dividend. Vulkan leaves `OpSRem` undefined for negative operands.
    pub(super) fn remainder(&mut self, ty: ScalarType, a: u32, b: u32) -> u32 {
        let (shape, b) = (Shape::Scalar(ty), self.divisor(ty, a, b));
        if !ty.is_signed() {
            return self.same(Op::UMod, &shape, &[a, b]);
        }
        let quotient = self.same(Op::SDiv, &shape, &[a, b]);
        let product = self.same(Op::IMul, &shape, &[quotient, b]);
        self.same(Op::ISub, &shape, &[a, product])
    }

    /// Shifts by the low bits of the count, as many as the width has use for.
    pub(super) fn shift(&mut self, op: Op, ty: ScalarType, by: ScalarType, a: u32, count: u32) -> u32 {
        let mask = u64::from(ty.bits() - 1);
        let count = match self.known(count) {
            Some(count) => self.u32((count & mask) as u32),
            None => {
                let mask = self.scalar(by, mask);
                self.same(Op::BitwiseAnd, &Shape::Scalar(by), &[count, mask])
            }
        };
        let shifted = self.same(op, &Shape::Scalar(ty), &[a, count]);
        if op == Op::ShiftLeftLogical { self.wrap(shifted, ty) } else { shifted }
    }
}
