//! Methods: functions that a type has, called on a value or capture of it.
//!
//! The attribute knows a method by its name alone; the receiver's type, which Rust infers, says which function it is. So
//! each marked function with a receiver is an implementation of [`Method`] by its type, and a call asks for one by its name.

use std::{marker::PhantomData, ops::Deref};

use super::{Cap, Composite, Pass, Place, Plain, Staged, Val};
use crate::capture::Stage;

/// A type that has a method. The number stands for its name; `Args` are the handles of the arguments, `Out` that of the result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such method in kernels",
    label = "not a method of kernels",
    note = "mark the `impl` that has it with `#[device]`; what other traits and derives give is never marked: write it into such an `impl`"
)]
pub trait Method<const NAME: u64, Args, Out>: Stage {
    /// The handle that it takes of what it is called on: a place, if it changes that.
    type This;
    /// Calls it.
    fn call(this: Self::This, args: Args) -> Out;
}

/// The handle of what has a method.
pub trait Receiver {
    /// Its type.
    type Of: Stage;
}

impl<T: Stage<Kind = Plain>> Receiver for Val<T> {
    type Of = T;
}

impl<T: Stage<Kind = Plain>> Receiver for Place<T> {
    type Of = T;
}

impl<T: Stage<Kind = Composite>> Receiver for Cap<T> {
    type Of = T;
}

/// The handle of what a function takes by reference where its type depends on a type parameter, which so follows from it.
pub trait Handle {
    /// Its type.
    type Of: Stage;
    /// The same, as the type says it.
    fn staged(self) -> Staged<Self::Of>;
}

impl<T: Stage<Kind = Plain>> Handle for Val<T> {
    type Of = T;
    fn staged(self) -> Val<T> {
        self
    }
}

impl<T: Stage<Kind = Composite>> Handle for Cap<T> {
    type Of = T;
    fn staged(self) -> Cap<T> {
        self
    }
}

/// A call of a method.
pub struct Call<const NAME: u64, R, Args, Out> {
    args: Args,
    misfit: Misfit<NAME, R, Out>,
}

/// A call of a method with arguments that it does not take. Rust reports the error where the host's copy calls it.
pub struct Misfit<const NAME: u64, R, Out> {
    receiver: R,
    out: PhantomData<fn() -> Out>,
}

/// A call of a method.
pub fn method<const NAME: u64, R, Args, Out>(receiver: R, args: Args) -> Call<NAME, R, Args, Out> {
    Call { args, misfit: Misfit { receiver, out: PhantomData } }
}

impl<const NAME: u64, R, Args, Out> Deref for Call<NAME, R, Args, Out> {
    type Target = Misfit<NAME, R, Out>;
    fn deref(&self) -> &Misfit<NAME, R, Out> {
        &self.misfit
    }
}

impl<const NAME: u64, R, Args, Out> Call<NAME, R, Args, Out>
where
    R: Receiver + Pass<<R::Of as Method<NAME, Args, Out>>::This>,
    R::Of: Method<NAME, Args, Out>,
{
    /// Calls it.
    pub fn fit(self) -> Out {
        <R::Of as Method<NAME, Args, Out>>::call(self.misfit.receiver.pass(), self.args)
    }
}

impl<const NAME: u64, R, Out> Misfit<NAME, R, Out> {
    /// An error where there is no such method at all.
    pub fn fit<Args>(&self) -> Out
    where
        R: Receiver + Pass<<R::Of as Method<NAME, Args, Out>>::This>,
        R::Of: Method<NAME, Args, Out>,
    {
        unreachable!("invariant: the host's copy has arguments that the method takes")
    }
}
