//! Where a handle of one type is expected, and one of another is written.
//!
//! Rust checks both copies of a body. Where the host's is plain Rust, it says what is wrong with a type or with a count of arguments,
//! and the staged one says nothing: what asks for a type by [`fit`] lets others pass, and is never run.

use std::{marker::PhantomData, ops::Deref};

use super::{Args, Place, Val};

/// A handle where one of a type is expected. Where it is of that type, or may still become that, it is; where not, it is a [`Misfit`].
pub struct Fit<A, B> {
    misfit: Misfit<A, B>,
}

/// A handle of another type than is expected.
pub struct Misfit<A, B> {
    handle: A,
    expected: PhantomData<fn() -> B>,
}

/// A handle where a `B` is expected.
pub fn fit<A, B>(handle: A) -> Fit<A, B> {
    Fit { misfit: Misfit { handle, expected: PhantomData } }
}

/// A value where one as another is expected.
pub fn like<A, B>(_: Val<B>, value: Val<A>) -> Fit<Val<A>, Val<B>> {
    fit(value)
}

/// A value where one as in another is expected.
pub fn like_some<A, B>(_: Val<Option<B>>, value: Val<A>) -> Fit<Val<A>, Val<B>> {
    fit(value)
}

/// A value that is assigned to a place.
pub fn assigned<A, B>(_: Place<B>, value: Val<A>) -> Fit<Val<A>, Val<B>> {
    fit(value)
}

impl<A, B> Deref for Fit<A, B> {
    type Target = Misfit<A, B>;
    fn deref(&self) -> &Misfit<A, B> {
        &self.misfit
    }
}

impl<T> Fit<T, T> {
    /// The handle.
    #[inline(always)]
    pub fn fit(self) -> T {
        self.misfit.handle
    }
}

impl<A: Handles, B> Misfit<A, B> {
    /// What the host's copy has no value for.
    pub fn fit(&self) -> B {
        unreachable!("invariant: the host's copy has a value of the type that is expected")
    }
}

/// Handles that Rust does not convert by itself: where two of them differ, so do the types of the host's copy.
pub trait Handles {}

impl<T> Handles for Val<T> {}

impl<A: Args> Handles for A {}

/// A call of a marked function that takes a `B`, all arguments as one.
pub struct Given<F, A, B, R> {
    function: F,
    misfit: Ungiven<A, B, R>,
}

/// A call with other arguments, or another count of them.
pub struct Ungiven<A, B, R> {
    all: A,
    expected: PhantomData<fn(B) -> R>,
}

/// Arguments for a function.
pub fn given<F: FnOnce(B) -> R, A, B, R>(function: F, all: A) -> Given<F, A, B, R> {
    Given { function, misfit: Ungiven { all, expected: PhantomData } }
}

impl<F, A, B, R> Deref for Given<F, A, B, R> {
    type Target = Ungiven<A, B, R>;
    fn deref(&self) -> &Ungiven<A, B, R> {
        &self.misfit
    }
}

impl<F: FnOnce(T) -> R, T, R> Given<F, T, T, R> {
    /// Calls the function.
    pub fn fit(self) -> R {
        (self.function)(self.misfit.all)
    }
}

impl<A: Handles, B, R> Ungiven<A, B, R> {
    /// What the host's copy does not call.
    pub fn fit(&self) -> R {
        unreachable!("invariant: the host's copy has arguments that the function takes")
    }
}

/// Two values of one type.
pub struct Same<A, B> {
    b: Val<B>,
    different: Different<A, B>,
}

/// Two values of different types.
pub struct Different<A, B> {
    a: Val<A>,
    other: PhantomData<fn() -> B>,
}

/// Two values where both are expected to be of one type.
pub fn same<A, B>(a: Val<A>, b: Val<B>) -> Same<A, B> {
    Same { b, different: Different { a, other: PhantomData } }
}

impl<A, B> Deref for Same<A, B> {
    type Target = Different<A, B>;
    fn deref(&self) -> &Different<A, B> {
        &self.different
    }
}

impl<T> Same<T, T> {
    /// What becomes of both.
    pub fn fit<R>(self, f: impl FnOnce(Val<T>, Val<T>) -> R) -> R {
        f(self.different.a, self.b)
    }
}

impl<A, B> Different<A, B> {
    /// What the host's copy has no operator for. Types of one's own may have one, which kernels do not.
    pub fn fit<R>(&self, _: impl FnOnce(Val<A>, Val<A>) -> R) -> R
    where
        A: Number,
        B: Number,
    {
        unreachable!("invariant: both values of the host's copy are of one type")
    }
}

/// Primitive types of Rust. No two different ones have an operator in common.
#[diagnostic::on_unimplemented(message = "`{Self}` and another type have no operator in common in kernels")]
pub trait Number {}

macro_rules! numbers {
    ($($name:ty)+) => { $(impl Number for $name {})+ };
}

numbers! { bool i8 u8 i16 u16 i32 u32 i64 u64 half::f16 f32 f64 }

/// What takes a value, and is done with it.
pub trait Takes: Sized {
    /// The type of the value.
    type Value;
    /// What comes of it.
    type Out;
    /// Takes the value.
    fn take(self, value: Val<Self::Value>) -> Self::Out;
}

/// What takes a value of type `B`, and one of type `A`.
pub struct Taking<C, A, B> {
    value: Val<A>,
    other: Refusing<C, B>,
}

/// What takes values of another type.
pub struct Refusing<C, B> {
    by: C,
    expected: PhantomData<fn() -> B>,
}

/// A value for what takes one.
pub(super) fn taking<C: Takes, A>(by: C, value: Val<A>) -> Taking<C, A, C::Value> {
    Taking { value, other: Refusing { by, expected: PhantomData } }
}

impl<C, A, B> Deref for Taking<C, A, B> {
    type Target = Refusing<C, B>;
    fn deref(&self) -> &Refusing<C, B> {
        &self.other
    }
}

impl<C: Takes<Value = T>, T> Taking<C, T, T> {
    /// Gives it the value.
    pub fn fit(self) -> C::Out {
        self.other.by.take(self.value)
    }
}

impl<C: Takes, B> Refusing<C, B> {
    /// What the host's copy has no value for.
    pub fn fit(&self) -> C::Out {
        unreachable!("invariant: the host's copy has a value of the type that is expected")
    }
}
