//! Integers of 8 and 16 bits: in buffers as narrow as they are, everywhere else as 32 bits with the same value.
//!
//! An operation is one of 32 bits, followed, where its result may not fit the type, by an explicit wrap. So devices need
//! no narrow arithmetic, and none is asked to get its overflow right: NVIDIA's 580 compares a difference of 8 bits that
//! wrapped around as if it had not.

use rspirv::spirv::Op;

use super::builder::Builder;
use crate::shape::{ScalarType, Shape};

impl ScalarType {
    pub(super) fn is_narrow(self) -> bool {
        self.held() != self
    }
}

impl Builder {
    /// Wraps 32 bits around to the range of a narrow type, and rounds to halves; anything else stays as it is.
    pub(super) fn wrap(&mut self, a: u32, ty: ScalarType) -> u32 {
        if ty == ScalarType::F16 {
            return self.half_near(a);
        }
        if !ty.is_narrow() {
            return a;
        }
        let held = Shape::Scalar(ty.held());
        if !ty.is_signed() {
            let mask = self.u32(u32::MAX >> (32 - ty.bits()));
            return self.same(Op::BitwiseAnd, &held, &[a, mask]);
        }
        let count = self.u32(32 - ty.bits());
        let high = self.same(Op::ShiftLeftLogical, &held, &[a, count]);
        self.same(Op::ShiftRightArithmetic, &held, &[high, count])
    }

    /// The type in memory that a scalar is stored as.
    pub(super) fn stored_type(&mut self, scalar: ScalarType) -> u32 {
        if scalar == ScalarType::F16 {
            self.half_type()
        } else if scalar.is_narrow() {
            self.int_type(scalar.bits(), scalar.is_signed())
        } else {
            self.scalar_type(scalar)
        }
    }

    /// The value of what was loaded from memory.
    pub(super) fn widened(&mut self, stored: u32, shape: &Shape) -> u32 {
        match shape {
            Shape::Scalar(ScalarType::F16) => self.half_loaded(stored),
            Shape::Scalar(scalar) if scalar.is_narrow() => self.same(convert(*scalar), shape, &[stored]),
            _ => stored,
        }
    }

    /// What is stored into memory for a value.
    pub(super) fn narrowed(&mut self, value: u32, shape: &Shape) -> u32 {
        match shape {
            Shape::Scalar(ScalarType::F16) => self.half_stored(value),
            Shape::Scalar(scalar) if scalar.is_narrow() => {
                let ty = self.stored_type(*scalar);
                self.op(convert(*scalar), ty, &[value])
            }
            _ => value,
        }
    }
}

/// The conversion between sizes that keeps the value.
fn convert(scalar: ScalarType) -> Op {
    if scalar.is_signed() { Op::SConvert } else { Op::UConvert }
}
