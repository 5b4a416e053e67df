//! Numbers as values, and what their operators mean.

use half::f16;

use super::{
    Add, ArithmeticFn, Bits, CountFn, Div, Float, Float32, FloatFn, Half, Int, Mul, Neg, Ordered, Rem,
    Scalar, SignedScalar, Sub, TurnFn,
};
use crate::{
    capture::{Arguments, Capture, Local, Position, Signature, Stage, Value, plain},
    shape::{ScalarType, Shape},
    stage::{Plain, Val},
};

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
        impl Value for $ty {}
        impl Local for $ty {
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

/// An operator of two values of one type, which the module has an instruction for.
macro_rules! operator {
    ($ty:ident $trait:ident $host:ident $stage:ident $plain:ident |$self:ident, $other:ident| $result:expr) => {
        impl $trait for $ty {
            type Output = $ty;
            fn $host($self, $other: Self) -> Self {
                $result
            }
            fn $stage(a: Val<Self>, b: Val<Self>) -> Val<Self> {
                crate::stage::$plain(a, b)
            }
        }
    };
}
pub(crate) use operator;

macro_rules! int {
    ($($ty:ident $variant:ident,)+) => {$(
        value!($ty $variant 0);
        operator! { $ty Add kernel_add stage_add plain_add |self, other| self.wrapping_add(other) }
        operator! { $ty Sub kernel_sub stage_sub plain_sub |self, other| self.wrapping_sub(other) }
        operator! { $ty Mul kernel_mul stage_mul plain_mul |self, other| self.wrapping_mul(other) }
        operator! { $ty Div kernel_div stage_div plain_div |self, other| self.checked_div(other).unwrap_or(self) }
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
        impl Rem for $ty {
            fn kernel_rem(self, other: Self) -> Self {
                self.checked_rem(other).unwrap_or(0)
            }
            fn stage_rem(a: Val<Self>, b: Val<Self>) -> Val<Self> {
                crate::stage::plain_rem(a, b)
            }
        }
        impl Int for $ty {
            fn kernel_shl(self, count: u32) -> Self {
                self.wrapping_shl(count)
            }
            fn kernel_shr(self, count: u32) -> Self {
                self.wrapping_shr(count)
            }
            fn kernel_low(self) -> u32 {
                self as u32
            }
            fn kernel_count(self, f: CountFn) -> u32 {
                match f {
                    CountFn::Ones => self.count_ones(),
                    CountFn::LeadingZeros => self.leading_zeros(),
                    CountFn::TrailingZeros => self.trailing_zeros(),
                }
            }
            fn kernel_turn(self, f: TurnFn) -> Self {
                match f {
                    TurnFn::ReverseBits => self.reverse_bits(),
                    TurnFn::SwapBytes => self.swap_bytes(),
                }
            }
            fn kernel_rotate(self, left: bool, count: u32) -> Self {
                if left { self.rotate_left(count) } else { self.rotate_right(count) }
            }
            fn kernel_power(self, exponent: u32) -> Self {
                self.wrapping_pow(exponent)
            }
            fn kernel_euclid(self, other: Self) -> (Self, Self) {
                let quotient = self.checked_div_euclid(other).unwrap_or(self);
                (quotient, self.checked_rem_euclid(other).unwrap_or(0))
            }
            fn kernel_saturating(self, f: ArithmeticFn, other: Self) -> Self {
                match f {
                    ArithmeticFn::Add => self.saturating_add(other),
                    ArithmeticFn::Sub => self.saturating_sub(other),
                    ArithmeticFn::Mul => self.saturating_mul(other),
                    ArithmeticFn::Div => self.kernel_div(other),
                    ArithmeticFn::Rem => self.kernel_rem(other),
                }
            }
            fn kernel_checked(self, f: ArithmeticFn, other: Self) -> Option<Self> {
                match f {
                    ArithmeticFn::Add => self.checked_add(other),
                    ArithmeticFn::Sub => self.checked_sub(other),
                    ArithmeticFn::Mul => self.checked_mul(other),
                    ArithmeticFn::Div => self.checked_div(other),
                    ArithmeticFn::Rem => self.checked_rem(other),
                }
            }
        }
    )+};
}

macro_rules! signed {
    ($($ty:ident)+) => {$(
        impl Neg for $ty {
            fn kernel_neg(self) -> Self {
                self.wrapping_neg()
            }
            fn stage_neg(a: Val<Self>) -> Val<Self> {
                crate::stage::plain_neg(a)
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
        operator! { $ty Add kernel_add stage_add plain_add |self, other| self + other }
        operator! { $ty Sub kernel_sub stage_sub plain_sub |self, other| self - other }
        operator! { $ty Mul kernel_mul stage_mul plain_mul |self, other| self * other }
        operator! { $ty Div kernel_div stage_div plain_div |self, other| self / other }
        impl Ordered for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            fn kernel_is_nan(self) -> bool {
                self.is_nan()
            }
        }
        impl Neg for $ty {
            fn kernel_neg(self) -> Self {
                -self
            }
            fn stage_neg(a: Val<Self>) -> Val<Self> {
                crate::stage::plain_neg(a)
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
        impl Rem for $ty {
            fn kernel_rem(self, other: Self) -> Self {
                self % other
            }
            fn stage_rem(a: Val<Self>, b: Val<Self>) -> Val<Self> {
                crate::remainder::$bits::__remainder(a, b)
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
            fn kernel_is_finite(self) -> bool {
                self.is_finite()
            }
        }
    )+};
}

/// On the host, too, operations are those of `f32`, rounded.
macro_rules! half {
    ($($trait:ident $host:ident $stage:ident $plain:ident $op:tt;)+) => {
        value!(f16 F16 f16::ZERO);
        $(operator! { f16 $trait $host $stage $plain
            |self, other| f16::from_f32(self.to_f32() $op other.to_f32()) })+
        impl Ordered for f16 {
            const ZERO: Self = f16::ZERO;
            const ONE: Self = f16::ONE;
            fn kernel_is_nan(self) -> bool {
                self.is_nan()
            }
        }
        impl Neg for f16 {
            fn kernel_neg(self) -> Self {
                -self
            }
            fn stage_neg(a: Val<Self>) -> Val<Self> {
                crate::stage::plain_neg(a)
            }
        }
        impl SignedScalar for f16 {
            fn kernel_abs(self) -> Self {
                f16::from_bits(self.to_bits() & 0x7fff)
            }
            fn kernel_signum(self) -> Self {
                self.signum()
            }
        }
        impl Rem for f16 {
            fn kernel_rem(self, other: Self) -> Self {
                f16::from_f32(self.to_f32() % other.to_f32())
            }
            fn stage_rem(a: Val<Self>, b: Val<Self>) -> Val<Self> {
                // What is left of two halves has the digits of one.
                Val::new(crate::remainder::u32::__remainder(Val::new(a.id), Val::new(b.id)).id)
            }
        }
        impl Float for f16 {
            type Bits = u16;
            fn kernel_to_bits(self) -> u16 {
                self.to_bits()
            }
            fn kernel_from_bits(bits: u16) -> Self {
                Self::from_bits(bits)
            }
            fn kernel_one(self, f: FloatFn) -> Self {
                f16::from_f32(self.to_f32().kernel_one(f))
            }
            fn kernel_mul_add(self, a: Self, b: Self) -> Self {
                // The product is exact.
                f16::from_f32(self.to_f32() * a.to_f32() + b.to_f32())
            }
            fn kernel_copysign(self, sign: Self) -> Self {
                self.copysign(sign)
            }
            fn kernel_is_finite(self) -> bool {
                self.is_finite()
            }
        }
        impl Half for f16 {
            fn kernel_of_f32(value: f32) -> Self {
                f16::from_f32(value)
            }
        }
    };
}

half! {
    Add kernel_add stage_add plain_add +;
    Sub kernel_sub stage_sub plain_sub -;
    Mul kernel_mul stage_mul plain_mul *;
    Div kernel_div stage_div plain_div /;
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

impl Float32 for f32 {
    fn kernel_f32(self) -> f32 {
        self
    }
    fn kernel_of(value: f32) -> Self {
        value
    }
}
