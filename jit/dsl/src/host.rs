//! The host's side of a kernel: what the operators and functions of its body expand to, and running it.
//!
//! A body is rewritten only where Rust's own operators would panic or differ between build profiles.

#[doc(hidden)]
#[allow(missing_docs, reason = "called by expanded code only")]
pub mod constant;
mod group;
mod run;

pub use group::Group;
pub use run::{on_host, on_host_groups, task_on_host};

use crate::{
    capture::Local,
    value::{
        self, ArithmeticFn, Bits, CountFn, Float, Float32, FloatFn, Half, Int, Ordered, Rem, SignedScalar,
        TurnFn,
    },
};

/// What bodies call.
#[doc(hidden)]
pub mod ops {
    use super::{
        ArithmeticFn, Bits, CountFn, Float, Float32, FloatFn, Half, Int, Local, Ordered, Rem, SignedScalar,
        TurnFn, value,
    };
    pub use crate::access::Accessor;
    use crate::{access::Kept, capture::Stage, stage::Composite};

    pub fn rem<T: Rem>(a: T, b: T) -> T {
        a.kernel_rem(b)
    }
    pub fn neg<T: value::Neg>(a: T) -> T {
        a.kernel_neg()
    }
    pub fn not<T: Bits>(a: T) -> T {
        a.kernel_not()
    }
    pub fn bitand<T: Bits>(a: T, b: T) -> T {
        a.kernel_and(b)
    }
    pub fn bitor<T: Bits>(a: T, b: T) -> T {
        a.kernel_or(b)
    }
    pub fn bitxor<T: Bits>(a: T, b: T) -> T {
        a.kernel_xor(b)
    }
    pub fn shl<T: Int, S: Int>(a: T, count: S) -> T {
        a.kernel_shl(count.kernel_low())
    }
    pub fn shr<T: Int, S: Int>(a: T, count: S) -> T {
        a.kernel_shr(count.kernel_low())
    }

    pub fn min<T: Ordered>(a: T, b: T) -> T {
        if a < b || b.kernel_is_nan() { a } else { b }
    }
    pub fn max<T: Ordered>(a: T, b: T) -> T {
        if a > b || b.kernel_is_nan() { a } else { b }
    }
    pub fn clamp<T: Ordered>(a: T, low: T, high: T) -> T {
        if a < low {
            low
        } else if a > high {
            high
        } else {
            a
        }
    }
    pub fn abs<T: SignedScalar>(a: T) -> T {
        a.kernel_abs()
    }
    pub fn signum<T: SignedScalar>(a: T) -> T {
        a.kernel_signum()
    }
    pub fn wrapping_add<T: Int>(a: T, b: T) -> T {
        a.kernel_add(b)
    }
    pub fn wrapping_sub<T: Int>(a: T, b: T) -> T {
        a.kernel_sub(b)
    }
    pub fn wrapping_mul<T: Int>(a: T, b: T) -> T {
        a.kernel_mul(b)
    }

    pub fn count_ones<T: Int>(a: T) -> u32 {
        a.kernel_count(CountFn::Ones)
    }
    pub fn leading_zeros<T: Int>(a: T) -> u32 {
        a.kernel_count(CountFn::LeadingZeros)
    }
    pub fn trailing_zeros<T: Int>(a: T) -> u32 {
        a.kernel_count(CountFn::TrailingZeros)
    }
    pub fn reverse_bits<T: Int>(a: T) -> T {
        a.kernel_turn(TurnFn::ReverseBits)
    }
    pub fn swap_bytes<T: Int>(a: T) -> T {
        a.kernel_turn(TurnFn::SwapBytes)
    }
    pub fn rotate_left<T: Int>(a: T, count: u32) -> T {
        a.kernel_rotate(true, count)
    }
    pub fn rotate_right<T: Int>(a: T, count: u32) -> T {
        a.kernel_rotate(false, count)
    }
    pub fn pow<T: Int>(a: T, exponent: u32) -> T {
        a.kernel_power(exponent)
    }
    pub fn div_euclid<T: Int>(a: T, b: T) -> T {
        a.kernel_euclid(b).0
    }
    pub fn rem_euclid<T: Int>(a: T, b: T) -> T {
        a.kernel_euclid(b).1
    }

    macro_rules! arithmetic {
        ($($saturating:ident $checked:ident $f:ident;)+) => {$(
            pub fn $saturating<T: Int>(a: T, b: T) -> T {
                a.kernel_saturating(ArithmeticFn::$f, b)
            }
            pub fn $checked<T: Int>(a: T, b: T) -> Option<T> {
                a.kernel_checked(ArithmeticFn::$f, b)
            }
        )+};
    }
    arithmetic! { saturating_add checked_add Add; saturating_sub checked_sub Sub; saturating_mul checked_mul Mul; }
    pub fn checked_div<T: Int>(a: T, b: T) -> Option<T> {
        a.kernel_checked(ArithmeticFn::Div, b)
    }
    pub fn checked_rem<T: Int>(a: T, b: T) -> Option<T> {
        a.kernel_checked(ArithmeticFn::Rem, b)
    }

    pub fn sqrt<T: Float>(a: T) -> T {
        a.kernel_one(FloatFn::Sqrt)
    }
    pub fn floor<T: Float>(a: T) -> T {
        a.kernel_one(FloatFn::Floor)
    }
    pub fn ceil<T: Float>(a: T) -> T {
        a.kernel_one(FloatFn::Ceil)
    }
    pub fn trunc<T: Float>(a: T) -> T {
        a.kernel_one(FloatFn::Trunc)
    }
    pub fn round<T: Float>(a: T) -> T {
        a.kernel_one(FloatFn::Round)
    }
    pub fn recip<T: Float>(a: T) -> T {
        T::ONE.kernel_div(a)
    }
    pub fn mul_add<T: Float>(a: T, b: T, c: T) -> T {
        a.kernel_mul_add(b, c)
    }
    pub fn copysign<T: Float>(a: T, sign: T) -> T {
        a.kernel_copysign(sign)
    }
    /// To a whole power, with one sequence of products on every machine: by squaring, from the lowest bit up.
    pub fn powi<T: Float>(a: T, exponent: i32) -> T {
        let (mut left, mut square, mut power) = (exponent.unsigned_abs(), a, T::ONE);
        while left != 0 {
            if left & 1 == 1 {
                power = power.kernel_mul(square);
            }
            left >>= 1;
            square = square.kernel_mul(square);
        }
        if exponent < 0 { T::ONE.kernel_div(power) } else { power }
    }
    pub fn is_some<T>(option: Option<T>) -> bool {
        option.is_some()
    }
    pub fn is_none<T>(option: Option<T>) -> bool {
        option.is_none()
    }
    pub fn unwrap_or<T>(option: Option<T>, other: T) -> T {
        option.unwrap_or(other)
    }
    /// What stands in for an element that is lent and out of range.
    pub fn zeroed<T: Local>() -> T {
        T::zero()
    }
    /// A copy that is not changed by mistake.
    pub fn kept<T>(value: T) -> Kept<T> {
        Kept(value)
    }
    pub fn is_nan<T: Float>(a: T) -> bool {
        a.kernel_is_nan()
    }
    pub fn is_finite<T: Float>(a: T) -> bool {
        a.kernel_is_finite()
    }
    pub fn is_infinite<T: Float>(a: T) -> bool {
        !a.kernel_is_finite() && !a.kernel_is_nan()
    }
    pub fn to_bits<T: Float>(a: T) -> T::Bits {
        a.kernel_to_bits()
    }
    pub fn from_f32<T: Half>(a: f32) -> T {
        T::kernel_of_f32(a)
    }
    pub fn from_bits<T: Float>(bits: T::Bits) -> T {
        T::kernel_from_bits(bits)
    }

    macro_rules! transcendental {
        ($($name:ident)+) => {$(
            pub fn $name<T: Float32>(a: T) -> T {
                T::kernel_of(a.kernel_f32().$name())
            }
        )+};
        ($($name:ident,)+) => {$(
            pub fn $name<T: Float32>(a: T, b: T) -> T {
                T::kernel_of(a.kernel_f32().$name(b.kernel_f32()))
            }
        )+};
    }
    transcendental! { sin cos tan asin acos atan sinh cosh tanh exp exp2 ln log2 }
    transcendental! { atan2, powf, }

    /// Indexing of arrays; the methods of accessors and work-group memory have the same names.
    pub trait Elements {
        type Element;
        /// An element; zero where there is none.
        fn kernel_at(&self, index: u32) -> Self::Element
        where
            Self::Element: Local;
        /// An element whose index is a literal.
        fn kernel_lit(&self, index: usize) -> &Self::Element;
        /// The place of an element, if there is one.
        fn kernel_slot(&mut self, index: u32) -> Option<&mut Self::Element>;
        /// The place of an element whose index is a literal.
        fn kernel_lit_slot(&mut self, index: usize) -> Option<&mut Self::Element>;
    }

    /// Arrays of captures, indexed by a literal to assign to the inside of one of them. Its method takes `&self`, so that method
    /// resolution finds it before that of [`Elements`]; arrays of values do not implement it.
    pub trait Captured {
        type Element;
        fn kernel_lit_slot(&self, index: usize) -> Option<&Self::Element>;
    }

    impl<T: Stage<Kind = Composite>, const N: usize> Captured for [T; N] {
        type Element = T;
        fn kernel_lit_slot(&self, index: usize) -> Option<&T> {
            self.get(index)
        }
    }

    impl<T, const N: usize> Elements for [T; N] {
        type Element = T;
        fn kernel_at(&self, index: u32) -> T
        where
            T: Local,
        {
            self.get(index as usize).copied().unwrap_or_else(T::zero)
        }
        fn kernel_lit(&self, index: usize) -> &T {
            &self[index]
        }
        fn kernel_slot(&mut self, index: u32) -> Option<&mut T> {
            self.get_mut(index as usize)
        }
        fn kernel_lit_slot(&mut self, index: usize) -> Option<&mut T> {
            self.get_mut(index)
        }
    }
}
