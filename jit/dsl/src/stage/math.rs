//! The functions of numbers on staged values. Where SPIR-V's own are looser than Rust's, they are made of instructions
//! that are not.

use rspirv::{
    dr::Operand,
    spirv::{GlslStd450Op as GLOp, Op},
};

use super::{Val, builder::Builder, shape, with};
use crate::{
    shape::{ScalarType, Shape},
    value::{Float, Float32, Int, Int32, Ordered, SignedScalar},
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

fn extended<T: Ordered>(function: GLOp, ids: &[u32]) -> Val<T> {
    let shape = shape::<T>();
    with(|b| Val::new(b.glsl(function, &shape, ids)))
}

fn select<T: Ordered>(condition: Val<bool>, yes: Val<T>, no: Val<T>) -> Val<T> {
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
    if T::TYPE.is_float() { super::bitor(condition, super::ne(b, b)) } else { condition }
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
        let negative = with(|b| Val::new(b.sign_bit(T::TYPE, a.id)));
        return select(super::ne(a, a), a, select(negative, minus, one));
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

/// The bits of a 32-bit integer as unsigned.
fn word<T: Int32>(a: Val<T>) -> Val<u32> {
    super::cast(a)
}

fn u32_shape() -> Shape {
    Shape::Scalar(ScalarType::U32)
}

/// Number of ones.
pub fn count_ones<T: Int32>(a: Val<T>) -> Val<u32> {
    let a = word(a);
    with(|b| Val::new(b.same(Op::BitCount, &u32_shape(), &[a.id])))
}

/// Number of zeros above the highest one.
pub fn leading_zeros<T: Int32>(a: Val<T>) -> Val<u32> {
    let top: Val<u32> = extended(GLOp::FindUMsb, &[word(a).id]);
    // Minus one, for zero, makes it 32.
    super::sub(super::constant(31_u32), top)
}

/// Number of zeros below the lowest one.
pub fn trailing_zeros<T: Int32>(a: Val<T>) -> Val<u32> {
    let bottom: Val<u32> = extended(GLOp::FindILsb, &[word(a).id]);
    min(bottom, super::constant(32_u32))
}

/// In reverse.
pub fn reverse_bits<T: Int32>(a: Val<T>) -> Val<T> {
    let a = word(a);
    let reversed: Val<u32> = with(|b| Val::new(b.same(Op::BitReverse, &u32_shape(), &[a.id])));
    super::cast(reversed)
}

/// Square root.
pub fn sqrt<T: Float>(a: Val<T>) -> Val<T> {
    extended(GLOp::Sqrt, &[a.id])
}

/// Down to a whole number.
pub fn floor<T: Float>(a: Val<T>) -> Val<T> {
    extended(GLOp::Floor, &[a.id])
}

/// Up to a whole number.
pub fn ceil<T: Float>(a: Val<T>) -> Val<T> {
    extended(GLOp::Ceil, &[a.id])
}

/// To a whole number towards zero.
pub fn trunc<T: Float>(a: Val<T>) -> Val<T> {
    extended(GLOp::Trunc, &[a.id])
}

/// To the nearest whole number, halves away from zero; SPIR-V leaves halves open.
pub fn round<T: Float>(a: Val<T>) -> Val<T> {
    let whole = trunc(a);
    let half = with(|b| Val::new(b.float(T::TYPE, 0.5)));
    let away = super::ge(abs(super::sub(a, whole)), half);
    let one = copysign(super::constant(T::ONE), a);
    select(away, super::add(whole, one), whole)
}

/// One by it.
pub fn recip<T: Float>(a: Val<T>) -> Val<T> {
    super::div(super::constant(T::ONE), a)
}

/// `a * b + c`, with one rounding or with two.
pub fn mul_add<T: Float>(a: Val<T>, b: Val<T>, c: Val<T>) -> Val<T> {
    extended(GLOp::Fma, &[a.id, b.id, c.id])
}

/// With the sign of another.
pub fn copysign<T: Float>(a: Val<T>, sign: Val<T>) -> Val<T> {
    let size = abs(a);
    let negative = with(|b| Val::new(b.sign_bit(T::TYPE, sign.id)));
    select(negative, super::neg(size), size)
}

/// Whether it is no number.
pub fn is_nan<T: Float>(a: Val<T>) -> Val<bool> {
    super::ne(a, a)
}

/// The bits of a float.
pub fn to_bits<T: Float>(a: Val<T>) -> Val<T::Bits> {
    with(|b| Val::new(b.same(Op::Bitcast, &shape::<T::Bits>(), &[a.id])))
}

/// The float of these bits.
pub fn from_bits<T: Float>(bits: Val<T::Bits>) -> Val<T> {
    with(|b| Val::new(b.same(Op::Bitcast, &shape::<T>(), &[bits.id])))
}

impl Builder {
    /// Whether the sign bit of a float is set.
    fn sign_bit(&mut self, ty: ScalarType, a: u32) -> u32 {
        let signed = if ty == ScalarType::F32 { ScalarType::I32 } else { ScalarType::I64 };
        let bits = self.same(Op::Bitcast, &Shape::Scalar(signed), &[a]);
        let zero = self.scalar(signed, 0);
        self.compare(Op::SLessThan, bits, zero)
    }
}

macro_rules! transcendental {
    ($($name:ident $op:ident)+) => {$(
        /// The function of that name, as exact as Vulkan asks for.
        pub fn $name<T: Float32>(a: Val<T>) -> Val<T> {
            extended(GLOp::$op, &[a.id])
        }
    )+};
}

transcendental! {
    sin Sin cos Cos tan Tan asin Asin acos Acos atan Atan sinh Sinh cosh Cosh tanh Tanh exp Exp exp2 Exp2 ln Log log2 Log2
}

/// The angle of `(x, y)` where `a` is `y`.
pub fn atan2<T: Float32>(a: Val<T>, x: Val<T>) -> Val<T> {
    extended(GLOp::Atan2, &[a.id, x.id])
}

/// `a` to a power.
pub fn powf<T: Float32>(a: Val<T>, exponent: Val<T>) -> Val<T> {
    extended(GLOp::Pow, &[a.id, exponent.id])
}
