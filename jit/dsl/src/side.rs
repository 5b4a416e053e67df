//! What both copies of a body call: one function for both, by which copy it is.
//!
//! Rust checks both copies. What it finds wrong with a type is the same error twice, and one that is the same to the letter is reported once.
//! So what bounds the types of operators and functions is here, and neither on the host's side nor on the staged one.

use std::{marker::PhantomData, ops::Deref};

use crate::{
    capture::Local,
    host::ops,
    stage::{self, Place, Val},
    value::{self, Bits, Float, Float32, Half, Int, Ordered, Rem, SignedScalar},
};

/// The host's copy.
pub enum Host {}

/// The staged copy.
pub enum Staged {}

macro_rules! sides {
    ($($name:ident<$($param:ident: $bound:path),+>($($arg:ident: $ty:ty),+) -> $ret:ty;)+) => {
        /// One of both copies.
        pub trait Side {
            /// How it has a value.
            type Of<T>;

            fn add<A: value::Add<B>, B>(a: Self::Of<A>, b: Self::Of<B>) -> Self::Of<A::Output>;
            fn sub<A: value::Sub<B>, B>(a: Self::Of<A>, b: Self::Of<B>) -> Self::Of<A::Output>;
            fn mul<A: value::Mul<B>, B>(a: Self::Of<A>, b: Self::Of<B>) -> Self::Of<A::Output>;
            fn div<A: value::Div<B>, B>(a: Self::Of<A>, b: Self::Of<B>) -> Self::Of<A::Output>;
            $(fn $name<$($param: $bound),+>($($arg: Self::Of<$ty>),+) -> Self::Of<$ret>;)+
        }

        impl Side for Host {
            type Of<T> = T;

            fn add<A: value::Add<B>, B>(a: A, b: B) -> A::Output {
                a.kernel_add(b)
            }
            fn sub<A: value::Sub<B>, B>(a: A, b: B) -> A::Output {
                a.kernel_sub(b)
            }
            fn mul<A: value::Mul<B>, B>(a: A, b: B) -> A::Output {
                a.kernel_mul(b)
            }
            fn div<A: value::Div<B>, B>(a: A, b: B) -> A::Output {
                a.kernel_div(b)
            }
            $(fn $name<$($param: $bound),+>($($arg: $ty),+) -> $ret {
                ops::$name($($arg),+)
            })+
        }

        impl Side for Staged {
            type Of<T> = Val<T>;

            fn add<A: value::Add<B>, B>(a: Val<A>, b: Val<B>) -> Val<A::Output> {
                A::stage_add(a, b)
            }
            fn sub<A: value::Sub<B>, B>(a: Val<A>, b: Val<B>) -> Val<A::Output> {
                A::stage_sub(a, b)
            }
            fn mul<A: value::Mul<B>, B>(a: Val<A>, b: Val<B>) -> Val<A::Output> {
                A::stage_mul(a, b)
            }
            fn div<A: value::Div<B>, B>(a: Val<A>, b: Val<B>) -> Val<A::Output> {
                A::stage_div(a, b)
            }
            $(fn $name<$($param: $bound),+>($($arg: Val<$ty>),+) -> Val<$ret> {
                stage::$name($($arg),+)
            })+
        }
    };
}

sides! {
    rem<T: Rem>(a: T, b: T) -> T;
    neg<T: value::Neg>(a: T) -> T;
    not<T: Bits>(a: T) -> T;
    bitand<T: Bits>(a: T, b: T) -> T;
    bitor<T: Bits>(a: T, b: T) -> T;
    bitxor<T: Bits>(a: T, b: T) -> T;
    shl<T: Int, S: Int>(a: T, count: S) -> T;
    shr<T: Int, S: Int>(a: T, count: S) -> T;
    min<T: Ordered>(a: T, b: T) -> T;
    max<T: Ordered>(a: T, b: T) -> T;
    clamp<T: Ordered>(a: T, low: T, high: T) -> T;
    abs<T: SignedScalar>(a: T) -> T;
    signum<T: SignedScalar>(a: T) -> T;
    wrapping_add<T: Int>(a: T, b: T) -> T;
    wrapping_sub<T: Int>(a: T, b: T) -> T;
    wrapping_mul<T: Int>(a: T, b: T) -> T;
    count_ones<T: Int>(a: T) -> u32;
    leading_zeros<T: Int>(a: T) -> u32;
    trailing_zeros<T: Int>(a: T) -> u32;
    reverse_bits<T: Int>(a: T) -> T;
    swap_bytes<T: Int>(a: T) -> T;
    rotate_left<T: Int>(a: T, count: u32) -> T;
    rotate_right<T: Int>(a: T, count: u32) -> T;
    pow<T: Int>(a: T, exponent: u32) -> T;
    div_euclid<T: Int>(a: T, b: T) -> T;
    rem_euclid<T: Int>(a: T, b: T) -> T;
    saturating_add<T: Int>(a: T, b: T) -> T;
    saturating_sub<T: Int>(a: T, b: T) -> T;
    saturating_mul<T: Int>(a: T, b: T) -> T;
    checked_add<T: Int>(a: T, b: T) -> Option<T>;
    checked_sub<T: Int>(a: T, b: T) -> Option<T>;
    checked_mul<T: Int>(a: T, b: T) -> Option<T>;
    checked_div<T: Int>(a: T, b: T) -> Option<T>;
    checked_rem<T: Int>(a: T, b: T) -> Option<T>;
    sqrt<T: Float>(a: T) -> T;
    floor<T: Float>(a: T) -> T;
    ceil<T: Float>(a: T) -> T;
    trunc<T: Float>(a: T) -> T;
    round<T: Float>(a: T) -> T;
    recip<T: Float>(a: T) -> T;
    powi<T: Float>(a: T, exponent: i32) -> T;
    mul_add<T: Float>(a: T, b: T, c: T) -> T;
    copysign<T: Float>(a: T, sign: T) -> T;
    is_nan<T: Float>(a: T) -> bool;
    is_finite<T: Float>(a: T) -> bool;
    is_infinite<T: Float>(a: T) -> bool;
    to_bits<T: Float>(a: T) -> T::Bits;
    from_bits<T: Float>(bits: T::Bits) -> T;
    from_f32<T: Half>(a: f32) -> T;
    sin<T: Float32>(a: T) -> T;
    cos<T: Float32>(a: T) -> T;
    tan<T: Float32>(a: T) -> T;
    asin<T: Float32>(a: T) -> T;
    acos<T: Float32>(a: T) -> T;
    atan<T: Float32>(a: T) -> T;
    sinh<T: Float32>(a: T) -> T;
    cosh<T: Float32>(a: T) -> T;
    tanh<T: Float32>(a: T) -> T;
    exp<T: Float32>(a: T) -> T;
    exp2<T: Float32>(a: T) -> T;
    ln<T: Float32>(a: T) -> T;
    log2<T: Float32>(a: T) -> T;
    atan2<T: Float32>(a: T, b: T) -> T;
    powf<T: Float32>(a: T, exponent: T) -> T;
    is_some<T: Local>(option: Option<T>) -> bool;
    is_none<T: Local>(option: Option<T>) -> bool;
    unwrap_or<T: Local>(option: Option<T>, other: T) -> T;
}

/// Both sides of an operator. Where their types are one, or may still become one, so is that of the result: Rust infers those
/// of literals and locals from that. Where they are not, [`Mixed`] has the operator.
pub struct Pair<S: Side, A, B> {
    mixed: Mixed<S, A, B>,
}

/// Both sides of an operator, of different types.
pub struct Mixed<S: Side, A, B> {
    a: S::Of<A>,
    b: S::Of<B>,
}

/// Both sides of an operator.
pub fn pair<S: Side, A, B>(a: S::Of<A>, b: S::Of<B>) -> Pair<S, A, B> {
    Pair { mixed: Mixed { a, b } }
}

impl<S: Side, A, B> Deref for Pair<S, A, B> {
    type Target = Mixed<S, A, B>;
    fn deref(&self) -> &Mixed<S, A, B> {
        &self.mixed
    }
}

macro_rules! operators {
    ($($name:ident $trait:ident;)+) => {$(
        impl<S: Side, T: value::$trait<T, Output = T>> Pair<S, T, T> {
            /// The operator.
            pub fn $name(self) -> S::Of<T> {
                S::$name(self.mixed.a, self.mixed.b)
            }
        }

        impl<S: Side, A, B> Mixed<S, A, B>
        where
            S::Of<A>: Copy,
            S::Of<B>: Copy,
        {
            /// The operator.
            pub fn $name<O>(&self) -> S::Of<O>
            where
                A: value::$trait<B, Output = O>,
            {
                S::$name(self.a, self.b)
            }
        }
    )+};
}

operators! { add Add; sub Sub; mul Mul; div Div; }

/// A value where one of a type is expected. Where its type is that, or may still become that, it is; where not, [`Other`] says so.
pub struct Given<S: Side, A, B> {
    other: Other<S, A, B>,
}

/// A value of another type than is expected.
pub struct Other<S: Side, A, B> {
    value: S::Of<A>,
    expected: PhantomData<fn() -> B>,
}

/// A value where a `B` is expected.
pub fn given<S: Side, A, B>(value: S::Of<A>) -> Given<S, A, B> {
    Given { other: Other { value, expected: PhantomData } }
}

/// What the host assigns to a place.
pub fn assigned<A, B>(_: &B, value: A) -> Given<Host, A, B> {
    given(value)
}

/// What the staged copy assigns to a place.
pub fn stage_assigned<A, B>(_: Place<B>, value: Val<A>) -> Given<Staged, A, B> {
    given(value)
}

impl<S: Side, A, B> Deref for Given<S, A, B> {
    type Target = Other<S, A, B>;
    fn deref(&self) -> &Other<S, A, B> {
        &self.other
    }
}

/// What is of a type: that type alone.
#[diagnostic::on_unimplemented(
    message = "`{Self}` where `{B}` is expected in a kernel",
    label = "expected `{B}`, found `{Self}`",
    note = "numbers become others by `as`"
)]
pub trait Is<B> {}

impl<T> Is<T> for T {}

impl<S: Side, T> Given<S, T, T> {
    /// The value.
    #[inline(always)]
    pub fn typed(self) -> S::Of<T> {
        self.other.value
    }
}

impl<S: Side, A, B> Other<S, A, B> {
    /// An error for each `A` that is no `B`, and those that are have the other method of this name.
    pub fn typed(&self) -> S::Of<B>
    where
        A: Is<B>,
    {
        unreachable!("invariant: a value of the type that is expected is taken as it is")
    }
}
