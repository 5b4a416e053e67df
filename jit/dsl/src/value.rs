//! The values of kernels written in Rust, and what their operators mean on the host.
//!
//! A kernel's arithmetic has one meaning, on the host as on a device, in every build profile: integers wrap, shifts use
//! the low bits of their count, a division by zero gives the dividend and its remainder zero, and so does the one
//! division that overflows. Each method here states that meaning once; the lowering emits the same.

mod numbers;

pub(crate) use numbers::operator;

use crate::{capture::Value, shape::ScalarType, stage::Val};

/// A number or bool.
pub trait Scalar: Value + PartialEq {
    /// Which.
    const TYPE: ScalarType;
}

/// What `a + b` is for two types. `#[device]` on an `impl` of `std::ops::Add` implements it for types of one's own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` plus `{Rhs}` is nothing in kernels",
    label = "no such sum",
    note = "cast one of two numbers with `as`; an operator of a struct is an `impl` of `std::ops::Add` that is marked `#[device]`"
)]
#[allow(missing_docs)]
pub trait Add<Rhs = Self>: Sized {
    type Output;
    #[doc(hidden)]
    fn kernel_add(self, other: Rhs) -> Self::Output;
    #[doc(hidden)]
    fn stage_add(a: Val<Self>, b: Val<Rhs>) -> Val<Self::Output>;
}

/// What `a - b` is for two types, as [`Add`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` minus `{Rhs}` is nothing in kernels",
    label = "no such difference",
    note = "cast one of two numbers with `as`; an operator of a struct is an `impl` of `std::ops::Sub` that is marked `#[device]`"
)]
#[allow(missing_docs)]
pub trait Sub<Rhs = Self>: Sized {
    type Output;
    #[doc(hidden)]
    fn kernel_sub(self, other: Rhs) -> Self::Output;
    #[doc(hidden)]
    fn stage_sub(a: Val<Self>, b: Val<Rhs>) -> Val<Self::Output>;
}

/// What `a * b` is for two types, as [`Add`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` times `{Rhs}` is nothing in kernels",
    label = "no such product",
    note = "cast one of two numbers with `as`; an operator of a struct is an `impl` of `std::ops::Mul` that is marked `#[device]`"
)]
#[allow(missing_docs)]
pub trait Mul<Rhs = Self>: Sized {
    type Output;
    #[doc(hidden)]
    fn kernel_mul(self, other: Rhs) -> Self::Output;
    #[doc(hidden)]
    fn stage_mul(a: Val<Self>, b: Val<Rhs>) -> Val<Self::Output>;
}

/// What `a / b` is for two types, as [`Add`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` by `{Rhs}` is nothing in kernels",
    label = "no such quotient",
    note = "cast one of two numbers with `as`; an operator of a struct is an `impl` of `std::ops::Div` that is marked `#[device]`"
)]
#[allow(missing_docs)]
pub trait Div<Rhs = Self>: Sized {
    type Output;
    #[doc(hidden)]
    fn kernel_div(self, other: Rhs) -> Self::Output;
    #[doc(hidden)]
    fn stage_div(a: Val<Self>, b: Val<Rhs>) -> Val<Self::Output>;
}

/// What `-a` is for a type, as [`Add`].
#[diagnostic::on_unimplemented(
    message = "minus `{Self}` is nothing in kernels",
    label = "no such number",
    note = "unsigned integers have no sign; an operator of a struct is an `impl` of `std::ops::Neg` that is marked `#[device]`"
)]
#[allow(missing_docs)]
pub trait Neg: Sized {
    #[doc(hidden)]
    fn kernel_neg(self) -> Self;
    #[doc(hidden)]
    fn stage_neg(a: Val<Self>) -> Val<Self>;
}

/// What can be added, subtracted, multiplied and divided: numbers, and vectors of them by components.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number in kernels",
    note = "numbers and vectors are; functions of numbers take the fields of a struct one by one"
)]
pub trait Number:
    Value
    + Add<Self, Output = Self>
    + Sub<Self, Output = Self>
    + Mul<Self, Output = Self>
    + Div<Self, Output = Self>
{
}

impl<T> Number for T where
    T: Value + Add<T, Output = T> + Sub<T, Output = T> + Mul<T, Output = T> + Div<T, Output = T>
{
}

/// A number that has an order.
pub trait Ordered: Number + Scalar + PartialOrd {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    #[doc(hidden)]
    fn kernel_is_nan(self) -> bool;
}

/// What has negative values.
pub trait Signed: Number + Neg {}

impl<T: Number + Neg> Signed for T {}

/// A scalar that has negative values.
pub trait SignedScalar: Signed + Ordered {
    #[doc(hidden)]
    fn kernel_abs(self) -> Self;
    #[doc(hidden)]
    fn kernel_signum(self) -> Self;
}

/// A number that `%` takes.
#[diagnostic::on_unimplemented(
    message = "`%` of `{Self}` is nothing in kernels",
    note = "integers and floats have it"
)]
pub trait Rem: Ordered {
    #[doc(hidden)]
    fn kernel_rem(self, other: Self) -> Self;
    #[doc(hidden)]
    fn stage_rem(a: Val<Self>, b: Val<Self>) -> Val<Self>;
}

/// Integers and bool: what has bitwise operators.
#[diagnostic::on_unimplemented(message = "`{Self}` has no bitwise operators in kernels")]
pub trait Bits: Scalar {
    #[doc(hidden)]
    fn kernel_and(self, other: Self) -> Self;
    #[doc(hidden)]
    fn kernel_or(self, other: Self) -> Self;
    #[doc(hidden)]
    fn kernel_xor(self, other: Self) -> Self;
    #[doc(hidden)]
    fn kernel_not(self) -> Self;
}

/// An integer.
#[diagnostic::on_unimplemented(message = "this takes integers in kernels, not `{Self}`")]
pub trait Int: Ordered + Bits + Rem {
    #[doc(hidden)]
    fn kernel_shl(self, count: u32) -> Self;
    #[doc(hidden)]
    fn kernel_shr(self, count: u32) -> Self;
    /// The low 32 bits.
    #[doc(hidden)]
    fn kernel_low(self) -> u32;
    #[doc(hidden)]
    fn kernel_count(self, f: CountFn) -> u32;
    #[doc(hidden)]
    fn kernel_turn(self, f: TurnFn) -> Self;
    #[doc(hidden)]
    fn kernel_rotate(self, left: bool, count: u32) -> Self;
    #[doc(hidden)]
    fn kernel_power(self, exponent: u32) -> Self;
    #[doc(hidden)]
    fn kernel_euclid(self, other: Self) -> (Self, Self);
    #[doc(hidden)]
    fn kernel_saturating(self, f: ArithmeticFn, other: Self) -> Self;
    #[doc(hidden)]
    fn kernel_checked(self, f: ArithmeticFn, other: Self) -> Option<Self>;
}

/// A float.
#[diagnostic::on_unimplemented(message = "this takes floats in kernels, not `{Self}`")]
pub trait Float: SignedScalar + Rem {
    /// The integer of the same size.
    type Bits: Int;
    #[doc(hidden)]
    fn kernel_to_bits(self) -> Self::Bits;
    #[doc(hidden)]
    fn kernel_from_bits(bits: Self::Bits) -> Self;
    #[doc(hidden)]
    fn kernel_one(self, f: FloatFn) -> Self;
    #[doc(hidden)]
    fn kernel_mul_add(self, a: Self, b: Self) -> Self;
    #[doc(hidden)]
    fn kernel_copysign(self, sign: Self) -> Self;
    #[doc(hidden)]
    fn kernel_is_finite(self) -> bool;
}

/// The float of 16 bits, which converts by functions.
#[diagnostic::on_unimplemented(message = "this takes and gives `f16` in kernels, not `{Self}`")]
pub trait Half: Float {
    #[doc(hidden)]
    fn kernel_of_f32(value: f32) -> Self;
}

/// A float that the transcendental functions take.
#[diagnostic::on_unimplemented(
    message = "transcendental functions take `f32` in kernels, not `{Self}`",
    note = "SPIR-V has them of 32 bits alone: cast an `f64` with `as f32`, and convert an `f16` by `to_f32` and `f16::from_f32`"
)]
pub trait Float32: Float {
    #[doc(hidden)]
    fn kernel_f32(self) -> f32;
    #[doc(hidden)]
    fn kernel_of(value: f32) -> Self;
}

/// What is counted of the bits of an integer.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum CountFn {
    Ones,
    LeadingZeros,
    TrailingZeros,
}

/// Another order of the bits of an integer.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum TurnFn {
    ReverseBits,
    SwapBytes,
}

/// Arithmetic that can leave the range of an integer type, or has no result.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticFn {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

/// A function of one float that both sizes have.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum FloatFn {
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    Round,
}
