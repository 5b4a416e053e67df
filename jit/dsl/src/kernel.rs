//! A function object that is a kernel.

use crate::{
    capture::{Capture, Stage},
    item::ItemKind,
    stage::{Composite, Staged},
};

/// A function object: captures with a body. Made by `#[kernel]` on an `impl` of a struct with `#[derive(Captures)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel",
    note = "a kernel is a struct with `#[derive(Captures)]` and an `impl` with `#[kernel]`"
)]
pub trait KernelObject: Capture + Stage<Kind = Composite> {
    /// What its body takes: what it can be run over.
    type Item: ItemKind;

    /// Its name.
    const NAME: &'static str;

    /// Runs the body on the host.
    fn call(&self, item: Self::Item);

    /// Runs the staged copy of the body.
    #[doc(hidden)]
    fn lower(this: Staged<Self>, item: Staged<Self::Item>);
}
