//! The functions of numbers on staged values. Where SPIR-V's own are looser than Rust's, they are made of instructions
//! that are not; those of floats alone are in `stage::float`.

use rspirv::{
    dr::Operand,
    spirv::{GlslStd450Op as GLOp, Op},
};

use super::{Val, builder::Builder, shape, with};
use crate::{
    shape::Shape,
    value::{Int, Ordered, SignedScalar},
};

impl Builder {
    pub(super) fn glsl(&mut self, function: GLOp, shape: &Shape, ids: &[u32]) -> u32 {
        let set = match self.glsl {
            Some(id) => id,
            None => {
                let id = self.fresh();
                *self.glsl.insert(id)
            }
        };
        let ty = self.value_type(shape);
        let mut operands = vec![Operand::IdRef(set), Operand::LiteralExtInstInteger(function as u32)];
        operands.extend(ids.iter().map(|&id| Operand::IdRef(id)));
        self.emit(Op::ExtInst, ty, operands)
    }
}

pub(super) fn extended<T: Ordered>(function: GLOp, ids: &[u32]) -> Val<T> {
    let shape = shape::<T>();
    with(|b| Val::new(b.glsl(function, &shape, ids)))
}

pub(super) fn select<T: Ordered>(condition: Val<bool>, yes: Val<T>, no: Val<T>) -> Val<T> {
    with(|b| Val::new(b.same(Op::Select, &shape::<T>(), &[condition.id, yes.id, no.id])))
}

/// The lesser; the number where one is none.
pub fn min<T: Ordered>(a: Val<T>, b: Val<T>) -> Val<T> {
    select(nan_or(super::lt(a, b), b), a, b)
}

/// The greater; the number where one is none.
pub fn max<T: Ordered>(a: Val<T>, b: Val<T>) -> Val<T> {
    select(nan_or(super::gt(a, b), b), a, b)
}

fn nan_or<T: Ordered>(condition: Val<bool>, b: Val<T>) -> Val<bool> {
    if T::TYPE.is_float() { super::bitor(condition, super::float::Parts::of(b).is_nan()) } else { condition }
}

/// Within two bounds; the lower one is looked at first.
pub fn clamp<T: Ordered>(a: Val<T>, low: Val<T>, high: Val<T>) -> Val<T> {
    select(super::lt(a, low), low, select(super::gt(a, high), high, a))
}

/// Without its sign; the least integer stays as it is.
pub fn abs<T: SignedScalar>(a: Val<T>) -> Val<T> {
    if T::TYPE.is_float() {
        return extended(GLOp::FAbs, &[a.id]);
    }
    with(|b| Val::new(b.abs(T::TYPE, a.id)))
}

/// One with its sign; integers that are zero, and what is no number, stay as they are.
pub fn signum<T: SignedScalar>(a: Val<T>) -> Val<T> {
    let (one, minus) = (super::constant(T::ONE), super::constant(T::ONE.kernel_neg()));
    if T::TYPE.is_float() {
        let parts = super::float::Parts::of(a);
        return select(parts.is_nan(), a, select(parts.negative, minus, one));
    }
    clamp(a, minus, one)
}

/// `a + b`, wrapping as all arithmetic does.
pub fn wrapping_add<T: Int>(a: Val<T>, b: Val<T>) -> Val<T> {
    super::add(a, b)
}

/// `a - b`, wrapping as all arithmetic does.
pub fn wrapping_sub<T: Int>(a: Val<T>, b: Val<T>) -> Val<T> {
    super::sub(a, b)
}

/// `a * b`, wrapping as all arithmetic does.
pub fn wrapping_mul<T: Int>(a: Val<T>, b: Val<T>) -> Val<T> {
    super::mul(a, b)
}
