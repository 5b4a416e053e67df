//! The operators of Rust on staged values.

use rspirv::spirv::Op;

use super::{Val, builder::Builder, shape, with};
use crate::{
    capture::Local,
    shape::{ScalarType, Shape},
    value::{self, Bits, Int, Ordered, Scalar},
};

impl Builder {
    /// An operation whose result has the type of its operands.
    pub(super) fn same(&mut self, op: Op, shape: &Shape, ids: &[u32]) -> u32 {
        let ty = self.value_type(shape);
        self.op(op, ty, ids)
    }

    pub(super) fn compare(&mut self, op: Op, a: u32, b: u32) -> u32 {
        let ty = self.bool_type();
        self.op(op, ty, &[a, b])
    }
}

/// The component type of a number or vector.
fn component(shape: &Shape) -> ScalarType {
    match shape {
        Shape::Scalar(scalar) | Shape::Vector(scalar, _) => *scalar,
        Shape::Array(element, _) => component(element),
        Shape::Struct(_) => ScalarType::U32,
    }
}

macro_rules! operators {
    ($($name:ident $trait:ident $stage:ident;)+) => {$(
        /// The operator, where both types are known to be one.
        pub fn $name<T: value::$trait<T, Output = T>>(a: Val<T>, b: Val<T>) -> Val<T> {
            T::$stage(a, b)
        }
    )+};
}

operators! { add Add stage_add; sub Sub stage_sub; mul Mul stage_mul; div Div stage_div; }

/// `-a`
pub fn neg<T: value::Neg>(a: Val<T>) -> Val<T> {
    T::stage_neg(a)
}

fn arithmetic<T: Local>(int: Op, float: Op, a: Val<T>, b: Val<T>) -> Val<T> {
    let shape = shape::<T>();
    let op = if component(&shape).is_float() { float } else { int };
    with(|builder| {
        let result = builder.same(op, &shape, &[a.id, b.id]);
        Val::new(builder.wrap(result, component(&shape)))
    })
}

/// The instruction for it, of numbers and vectors.
pub(crate) fn plain_add<T: Local>(a: Val<T>, b: Val<T>) -> Val<T> {
    arithmetic(Op::IAdd, Op::FAdd, a, b)
}

/// The instruction for it, of numbers and vectors.
pub(crate) fn plain_sub<T: Local>(a: Val<T>, b: Val<T>) -> Val<T> {
    arithmetic(Op::ISub, Op::FSub, a, b)
}

/// The instruction for it, of numbers and vectors.
pub(crate) fn plain_mul<T: Local>(a: Val<T>, b: Val<T>) -> Val<T> {
    let shape = shape::<T>();
    if matches!(shape, Shape::Scalar(ScalarType::U64 | ScalarType::I64)) {
        return with(|builder| Val::new(builder.product_long(&shape, a.id, b.id)));
    }
    arithmetic(Op::IMul, Op::FMul, a, b)
}

/// The instruction for it, of numbers and vectors.
pub(crate) fn plain_div<T: Local>(a: Val<T>, b: Val<T>) -> Val<T> {
    let shape = shape::<T>();
    with(|builder| {
        Val::new(match &shape {
            _ if component(&shape).is_float() => {
                let quotient = builder.same(Op::FDiv, &shape, &[a.id, b.id]);
                builder.wrap(quotient, component(&shape))
            }
            Shape::Vector(scalar, n) => {
                let element = Shape::Scalar(*scalar);
                let quotients: Vec<u32> = (0..*n)
                    .map(|k| {
                        let (a, b) = (builder.extract(&element, a.id, k), builder.extract(&element, b.id, k));
                        builder.divide(*scalar, a, b)
                    })
                    .collect();
                builder.same(Op::CompositeConstruct, &shape, &quotients)
            }
            _ => builder.divide(component(&shape), a.id, b.id),
        })
    })
}

/// `a % b`
pub fn rem<T: value::Rem>(a: Val<T>, b: Val<T>) -> Val<T> {
    T::stage_rem(a, b)
}

/// The remainder of integers.
pub(crate) fn plain_rem<T: Int>(a: Val<T>, b: Val<T>) -> Val<T> {
    with(|builder| Val::new(builder.remainder(T::TYPE, a.id, b.id)))
}

/// The instruction for it, of numbers and vectors.
pub(crate) fn plain_neg<T: Local>(a: Val<T>) -> Val<T> {
    let shape = shape::<T>();
    let op = if component(&shape).is_float() { Op::FNegate } else { Op::SNegate };
    with(|builder| {
        let result = builder.same(op, &shape, &[a.id]);
        // A float without its sign needs no rounding.
        let wraps = !component(&shape).is_float();
        Val::new(if wraps { builder.wrap(result, component(&shape)) } else { result })
    })
}

/// `!a`
pub fn not<T: Bits>(a: Val<T>) -> Val<T> {
    let op = if T::TYPE == ScalarType::Bool { Op::LogicalNot } else { Op::Not };
    with(|builder| {
        let result = builder.same(op, &shape::<T>(), &[a.id]);
        // The ones above an unsigned number go; those above a signed one are its sign.
        Val::new(if T::TYPE.is_signed() { result } else { builder.wrap(result, T::TYPE) })
    })
}

fn bitwise<T: Bits>(int: Op, logical: Op, a: Val<T>, b: Val<T>) -> Val<T> {
    let op = if T::TYPE == ScalarType::Bool { logical } else { int };
    with(|builder| Val::new(builder.same(op, &shape::<T>(), &[a.id, b.id])))
}

/// `a & b`
pub fn bitand<T: Bits>(a: Val<T>, b: Val<T>) -> Val<T> {
    bitwise(Op::BitwiseAnd, Op::LogicalAnd, a, b)
}

/// `a | b`
pub fn bitor<T: Bits>(a: Val<T>, b: Val<T>) -> Val<T> {
    bitwise(Op::BitwiseOr, Op::LogicalOr, a, b)
}

/// `a ^ b`
pub fn bitxor<T: Bits>(a: Val<T>, b: Val<T>) -> Val<T> {
    bitwise(Op::BitwiseXor, Op::LogicalNotEqual, a, b)
}

/// `a << count`
pub fn shl<T: Int, S: Int>(a: Val<T>, count: Val<S>) -> Val<T> {
    with(|builder| Val::new(builder.shift(Op::ShiftLeftLogical, T::TYPE, S::TYPE, a.id, count.id)))
}

/// `a >> count`
pub fn shr<T: Int, S: Int>(a: Val<T>, count: Val<S>) -> Val<T> {
    let op = if T::TYPE.is_signed() { Op::ShiftRightArithmetic } else { Op::ShiftRightLogical };
    with(|builder| Val::new(builder.shift(op, T::TYPE, S::TYPE, a.id, count.id)))
}

/// Opcodes of a comparison: floats, signed, unsigned.
fn ordered<T: Scalar>(ops: [Op; 3], a: Val<T>, b: Val<T>) -> Val<bool> {
    let [float, signed, unsigned] = ops;
    let op = match T::TYPE {
        scalar if scalar.is_float() => float,
        scalar if scalar.is_signed() => signed,
        _ => unsigned,
    };
    with(|builder| Val::new(builder.compare(op, a.id, b.id)))
}

/// `a == b`
pub fn eq<T: Scalar>(a: Val<T>, b: Val<T>) -> Val<bool> {
    if T::TYPE == ScalarType::Bool {
        return with(|builder| Val::new(builder.compare(Op::LogicalEqual, a.id, b.id)));
    }
    ordered([Op::FOrdEqual, Op::IEqual, Op::IEqual], a, b)
}

/// `a != b`
pub fn ne<T: Scalar>(a: Val<T>, b: Val<T>) -> Val<bool> {
    if T::TYPE == ScalarType::Bool {
        return with(|builder| Val::new(builder.compare(Op::LogicalNotEqual, a.id, b.id)));
    }
    ordered([Op::FUnordNotEqual, Op::INotEqual, Op::INotEqual], a, b)
}

/// `a < b`
pub fn lt<T: Ordered>(a: Val<T>, b: Val<T>) -> Val<bool> {
    ordered([Op::FOrdLessThan, Op::SLessThan, Op::ULessThan], a, b)
}

/// `a <= b`
pub fn le<T: Ordered>(a: Val<T>, b: Val<T>) -> Val<bool> {
    ordered([Op::FOrdLessThanEqual, Op::SLessThanEqual, Op::ULessThanEqual], a, b)
}

/// `a > b`
pub fn gt<T: Ordered>(a: Val<T>, b: Val<T>) -> Val<bool> {
    ordered([Op::FOrdGreaterThan, Op::SGreaterThan, Op::UGreaterThan], a, b)
}

/// `a >= b`
pub fn ge<T: Ordered>(a: Val<T>, b: Val<T>) -> Val<bool> {
    ordered([Op::FOrdGreaterThanEqual, Op::SGreaterThanEqual, Op::UGreaterThanEqual], a, b)
}
