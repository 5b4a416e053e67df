//! The host's side of a kernel: what the operators and functions of its body expand to, and running it.
//!
//! A body is rewritten only where Rust's own operators would panic or differ between build profiles.

mod group;
mod run;

pub use group::Group;
pub use run::{on_host, on_host_groups, task_on_host};

use crate::{
    capture::Value,
    value::{Bits, Float, Float32, FloatFn, Int, Int32, Number, Ordered, Signed, SignedScalar},
};

/// What bodies call.
#[doc(hidden)]
pub mod ops {
    use super::{Bits, Float, Float32, FloatFn, Int, Int32, Number, Ordered, Signed, SignedScalar, Value};

    pub fn add<T: Number>(a: T, b: T) -> T {
        a.kernel_add(b)
    }
    pub fn sub<T: Number>(a: T, b: T) -> T {
        a.kernel_sub(b)
    }
    pub fn mul<T: Number>(a: T, b: T) -> T {
        a.kernel_mul(b)
    }
    pub fn div<T: Number>(a: T, b: T) -> T {
        a.kernel_div(b)
    }
    pub fn rem<T: Int>(a: T, b: T) -> T {
        a.kernel_rem(b)
    }
    pub fn neg<T: Signed>(a: T) -> T {
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

    pub fn count_ones<T: Int32>(a: T) -> u32 {
        a.kernel_low().count_ones()
    }
    pub fn leading_zeros<T: Int32>(a: T) -> u32 {
        a.kernel_low().leading_zeros()
    }
    pub fn trailing_zeros<T: Int32>(a: T) -> u32 {
        a.kernel_low().trailing_zeros()
    }
    pub fn reverse_bits<T: Int32>(a: T) -> T {
        T::kernel_from(a.kernel_low().reverse_bits())
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
    pub fn is_nan<T: Float>(a: T) -> bool {
        a.kernel_is_nan()
    }
    pub fn to_bits<T: Float>(a: T) -> T::Bits {
        a.kernel_to_bits()
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

    /// An element; zero where there is none.
    pub fn at<T: Value, const N: usize>(array: &[T; N], index: u32) -> T {
        array.get(index as usize).copied().unwrap_or_else(T::zero)
    }

    /// The place of an element, if there is one.
    pub fn slot<T: Value, const N: usize>(array: &mut [T; N], index: u32) -> Option<&mut T> {
        array.get_mut(index as usize)
    }
}
