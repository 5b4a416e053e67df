//! The values of kernels written in Rust, and what their operators mean on the host.
//!
//! A kernel's arithmetic has one meaning, on the host as on a device, in every build profile: integers wrap, shifts use
//! the low bits of their count, a division by zero gives the dividend and its remainder zero, and so does the one
//! division that overflows. Each method here states that meaning once; the lowering emits the same.

use crate::{
    capture::{Arguments, Capture, Position, Signature, Stage, Value, plain},
    shape::{ScalarType, Shape},
    stage::Plain,
};

/// A number or bool.
pub trait Scalar: Value + PartialEq {
    /// Which.
    const TYPE: ScalarType;
}

/// What can be added, subtracted, multiplied and divided: numbers, and vectors of them by components.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no arithmetic in kernels",
    note = "numbers and vectors have; compute with the fields of a struct one by one"
)]
#[allow(missing_docs)]
pub trait Number: Value {
    #[doc(hidden)]
    fn kernel_add(self, other: Self) -> Self;
    #[doc(hidden)]
    fn kernel_sub(self, other: Self) -> Self;
    #[doc(hidden)]
    fn kernel_mul(self, other: Self) -> Self;
    #[doc(hidden)]
    fn kernel_div(self, other: Self) -> Self;
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
pub trait Signed: Number {
    #[doc(hidden)]
    fn kernel_neg(self) -> Self;
}

/// A scalar that has negative values.
pub trait SignedScalar: Signed + Ordered {
    #[doc(hidden)]
    fn kernel_abs(self) -> Self;
    #[doc(hidden)]
    fn kernel_signum(self) -> Self;
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
#[diagnostic::on_unimplemented(
    message = "this takes integers in kernels, not `{Self}`",
    note = "`%` on floats: use `a - b * (a / b).trunc()`, and decide what its rounding may be"
)]
pub trait Int: Ordered + Bits {
    #[doc(hidden)]
    fn kernel_rem(self, other: Self) -> Self;
    #[doc(hidden)]
    fn kernel_shl(self, count: u32) -> Self;
    #[doc(hidden)]
    fn kernel_shr(self, count: u32) -> Self;
    /// The low 32 bits.
    #[doc(hidden)]
    fn kernel_low(self) -> u32;
}

/// A 32-bit integer: what the bit-counting functions take.
#[diagnostic::on_unimplemented(
    message = "this takes `u32` or `i32` in kernels, not `{Self}`",
    note = "cast with `as u32` first"
)]
pub trait Int32: Int {
    #[doc(hidden)]
    fn kernel_from(bits: u32) -> Self;
}

/// A float.
#[diagnostic::on_unimplemented(message = "this takes `f32` or `f64` in kernels, not `{Self}`")]
pub trait Float: SignedScalar {
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
}

/// A float that the transcendental functions take.
#[diagnostic::on_unimplemented(
    message = "transcendental functions take `f32` in kernels, not `{Self}`",
    note = "SPIR-V has no 64-bit form of them: cast with `as f32`"
)]
pub trait Float32: Float {
    #[doc(hidden)]
    fn kernel_f32(self) -> f32;
    #[doc(hidden)]
    fn kernel_of(value: f32) -> Self;
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

macro_rules! value {
    ($ty:ident $variant:ident $zero:expr) => {
        impl Stage for $ty {
            type Kind = Plain;
        }
        impl Capture for $ty {
            fn advance(at: Position) -> Position {
                plain::advance::<Self>(at)
            }
            fn plain_shape() -> Option<Shape> {
                Some(Self::shape())
            }
            fn describe(path: &str, at: Position, signature: &mut Signature) {
                plain::describe::<Self>(path, at, signature);
            }
            fn bind(&self, at: Position, arguments: &mut Arguments) {
                plain::bind(self, at, arguments);
            }
        }
        impl Value for $ty {
            fn shape() -> Shape {
                Shape::Scalar(ScalarType::$variant)
            }
            fn write(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(bytemuck::bytes_of(&[*self].map(value!(@bytes $ty))));
            }
            fn zero() -> Self {
                $zero
            }
        }
        impl Scalar for $ty {
            const TYPE: ScalarType = ScalarType::$variant;
        }
    };
    (@bytes bool) => { u8::from };
    (@bytes $ty:ident) => { std::convert::identity };
}

macro_rules! int {
    ($($ty:ident $variant:ident,)+) => {$(
        value!($ty $variant 0);
        impl Number for $ty {
            fn kernel_add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn kernel_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn kernel_mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn kernel_div(self, other: Self) -> Self {
                self.checked_div(other).unwrap_or(self)
            }
        }
        impl Ordered for $ty {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            fn kernel_is_nan(self) -> bool {
                false
            }
        }
        impl Bits for $ty {
            fn kernel_and(self, other: Self) -> Self {
                self & other
            }
            fn kernel_or(self, other: Self) -> Self {
                self | other
            }
            fn kernel_xor(self, other: Self) -> Self {
                self ^ other
            }
            fn kernel_not(self) -> Self {
                !self
            }
        }
        impl Int for $ty {
            fn kernel_rem(self, other: Self) -> Self {
                self.checked_rem(other).unwrap_or(0)
            }
            fn kernel_shl(self, count: u32) -> Self {
                self.wrapping_shl(count)
            }
            fn kernel_shr(self, count: u32) -> Self {
                self.wrapping_shr(count)
            }
            fn kernel_low(self) -> u32 {
                self as u32
            }
        }
    )+};
}

macro_rules! signed {
    ($($ty:ident)+) => {$(
        impl Signed for $ty {
            fn kernel_neg(self) -> Self {
                self.wrapping_neg()
            }
        }
        impl SignedScalar for $ty {
            fn kernel_abs(self) -> Self {
                self.wrapping_abs()
            }
            fn kernel_signum(self) -> Self {
                self.signum()
            }
        }
    )+};
}

macro_rules! float {
    ($($ty:ident $variant:ident $bits:ident,)+) => {$(
        value!($ty $variant 0.0);
        impl Number for $ty {
            fn kernel_add(self, other: Self) -> Self {
                self + other
            }
            fn kernel_sub(self, other: Self) -> Self {
                self - other
            }
            fn kernel_mul(self, other: Self) -> Self {
                self * other
            }
            fn kernel_div(self, other: Self) -> Self {
                self / other
            }
        }
        impl Ordered for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            fn kernel_is_nan(self) -> bool {
                self.is_nan()
            }
        }
        impl Signed for $ty {
            fn kernel_neg(self) -> Self {
                -self
            }
        }
        impl SignedScalar for $ty {
            fn kernel_abs(self) -> Self {
                self.abs()
            }
            fn kernel_signum(self) -> Self {
                self.signum()
            }
        }
        impl Float for $ty {
            type Bits = $bits;
            fn kernel_to_bits(self) -> $bits {
                self.to_bits()
            }
            fn kernel_from_bits(bits: $bits) -> Self {
                Self::from_bits(bits)
            }
            fn kernel_one(self, f: FloatFn) -> Self {
                match f {
                    FloatFn::Sqrt => self.sqrt(),
                    FloatFn::Floor => self.floor(),
                    FloatFn::Ceil => self.ceil(),
                    FloatFn::Trunc => self.trunc(),
                    FloatFn::Round => self.round(),
                }
            }
            fn kernel_mul_add(self, a: Self, b: Self) -> Self {
                self.mul_add(a, b)
            }
            fn kernel_copysign(self, sign: Self) -> Self {
                self.copysign(sign)
            }
        }
    )+};
}

int! {
    i8 I8, u8 U8, i16 I16, u16 U16, i32 I32, u32 U32, i64 I64, u64 U64,
}
signed! { i8 i16 i32 i64 }
float! { f32 F32 u32, f64 F64 u64, }
value!(bool Bool false);

impl Bits for bool {
    fn kernel_and(self, other: Self) -> Self {
        self & other
    }
    fn kernel_or(self, other: Self) -> Self {
        self | other
    }
    fn kernel_xor(self, other: Self) -> Self {
        self ^ other
    }
    fn kernel_not(self) -> Self {
        !self
    }
}

impl Int32 for u32 {
    fn kernel_from(bits: u32) -> Self {
        bits
    }
}

impl Int32 for i32 {
    fn kernel_from(bits: u32) -> Self {
        bits as i32
    }
}

impl Float32 for f32 {
    fn kernel_f32(self) -> f32 {
        self
    }
    fn kernel_of(value: f32) -> Self {
        value
    }
}
