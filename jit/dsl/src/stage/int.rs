//! Integer operations that SPIR-V leaves undefined for some operands, with the meaning that kernels give them.

use rspirv::spirv::Op;

use super::builder::Builder;
use crate::shape::{ScalarType, Shape};

impl Builder {
    /// The divisor, or one where dividing by it is not defined: zero, and minus one below the least number.
    fn divisor(&mut self, ty: ScalarType, a: u32, b: u32) -> u32 {
        if self.is_fit(ty, b) {
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
        if self.is_long(ty, b) {
            return self.quotient_and_remainder(ty, a, b).0;
        }
        let b = self.divisor(ty, a, b);
        let op = if ty.is_signed() { Op::SDiv } else { Op::UDiv };
        self.same(op, &Shape::Scalar(ty), &[a, b])
    }

    /// The remainder has the sign of the dividend. Vulkan leaves `OpSRem` undefined for negative operands.
    pub(super) fn remainder(&mut self, ty: ScalarType, a: u32, b: u32) -> u32 {
        if self.is_long(ty, b) {
            return self.quotient_and_remainder(ty, a, b).1;
        }
        let (shape, b) = (Shape::Scalar(ty), self.divisor(ty, a, b));
        if !ty.is_signed() {
            return self.same(Op::UMod, &shape, &[a, b]);
        }
        let quotient = self.same(Op::SDiv, &shape, &[a, b]);
        let product = self.same(Op::IMul, &shape, &[quotient, b]);
        self.same(Op::ISub, &shape, &[a, product])
    }

    /// Whether everything can be divided by it: a constant other than zero and minus one.
    fn is_fit(&self, ty: ScalarType, b: u32) -> bool {
        self.known(b).is_some_and(|b| b != 0 && !(ty.is_signed() && b == u64::MAX))
    }

    /// Whether a division is one of 64 bits by anything else.
    fn is_long(&self, ty: ScalarType, b: u32) -> bool {
        ty.bits() == 64 && !self.is_fit(ty, b)
    }

    /// Quotient and remainder of 64 bits: those of the magnitudes, with their signs; a divisor of zero counts as one.
    fn quotient_and_remainder(&mut self, ty: ScalarType, a: u32, b: u32) -> (u32, u32) {
        let (long, shape) = (Shape::Scalar(ScalarType::U64), Shape::Scalar(ty));
        let (zero, one) = (self.scalar(ScalarType::U64, 0), self.scalar(ScalarType::U64, 1));
        let ((a, a_sign), (b, b_sign)) = if ty.is_signed() {
            let (a, b) = (self.magnitude(a), self.magnitude(b));
            ((a.0, Some(a.1)), (b.0, Some(b.1)))
        } else {
            ((a, None), (b, None))
        };
        let bad = self.compare(Op::IEqual, b, zero);
        let b = self.same(Op::Select, &long, &[bad, one, b]);
        let (quotient, remainder) = self.divide_long(a, b);
        let remainder = self.same(Op::Select, &long, &[bad, zero, remainder]);
        let (Some(a_sign), Some(b_sign)) = (a_sign, b_sign) else { return (quotient, remainder) };
        let sign = self.compare(Op::LogicalNotEqual, a_sign, b_sign);
        let (quotient, remainder) = (self.negated(sign, quotient), self.negated(a_sign, remainder));
        (self.same(Op::Bitcast, &shape, &[quotient]), self.same(Op::Bitcast, &shape, &[remainder]))
    }

    /// The absolute value of an integer, which is less itself twice where its sign is set. With a selection between it and
    /// minus it, NVIDIA's driver 580.159.04 computes the bounded absolute value of a float made of it wrongly.
    pub(super) fn abs(&mut self, ty: ScalarType, a: u32) -> u32 {
        let (held, one) = (Shape::Scalar(ty), self.u32(1));
        let last = self.u32(ty.held().bits() - 1);
        let sign = self.same(Op::ShiftRightArithmetic, &held, &[a, last]);
        let negative = self.same(Op::BitwiseAnd, &held, &[a, sign]);
        let twice = self.same(Op::ShiftLeftLogical, &held, &[negative, one]);
        let size = self.same(Op::ISub, &held, &[a, twice]);
        self.wrap(size, ty)
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
