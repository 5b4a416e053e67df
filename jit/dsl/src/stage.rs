//! The staged form of a body: what the attribute's second copy of it calls, and which emits SPIR-V when run.
//!
//! The copy has a call for each expression of the body, on handles that carry the expression's Rust type: [`Val`] for a
//! value, [`Place`] for a mutable local or a part of one, [`Cap`] for a capture. So Rust's own inference finds the type of
//! everything, literals included, and compiles generic bodies once per type; running the copy walks every branch once.
//! The handles are numbers; what they stand for is kept by the one `Builder` of the thread, between the start and
//! the end of a lowering.

mod access;
mod bits;
mod builder;
mod call;
mod cast;
mod composite;
mod element;
mod fit;
mod float;
mod flow;
mod global;
mod grid;
mod half;
mod int;
mod item;
mod local;
mod math;
mod memory;
mod method;
mod narrow;
mod operators;
mod overflow;
mod place;
mod plain;
mod types;
mod wide;

pub use access::{Get, Set};
pub use bits::{
    count_ones, leading_zeros, reverse_bits, rotate_left, rotate_right, swap_bytes, trailing_zeros,
};
pub(crate) use builder::{Builder, Fit, FitTo, with};
pub use builder::{CHECK_ASSERTED, CHECK_ENTRIES, CHECK_WORDS};
pub use call::{Arg, Args, Marked, Ret, Returned, call};
pub use cast::{cast, from};
pub use composite::{
    Each, Lend, PartOf, Pass, Tuple, for_each, is_none, is_some, later, lend, none, part, pass, payload,
    some, tuple, unwrap_or,
};
pub use element::Slot;
pub use fit::{assigned, fit, given, like, like_some, same};
pub use float::{
    acos, asin, atan, atan2, ceil, copysign, cos, cosh, exp, exp2, floor, from_bits, is_finite, is_infinite,
    is_nan, ln, log2, mul_add, powf, powi, recip, round, sin, sinh, sqrt, tan, tanh, to_bits, trunc,
};
pub use flow::{
    Broken, Chain, Yield, assert, break_, break_to, continue_, continue_to, for_inclusive, for_range,
    for_steps, if_chain, if_then, if_value, label, loop_, loop_value, never, nowhere, return_unit, while_,
};
pub use half::from_f32;
pub use math::*;
pub use method::{Handle, Method, Receiver, method};
pub use operators::*;
pub use overflow::{
    checked_add, checked_div, checked_mul, checked_rem, checked_sub, div_euclid, pow, rem_euclid,
    saturating_add, saturating_mul, saturating_sub,
};
pub(crate) use place::vector;
pub use place::{
    Assign, FieldOf, IndexBy, IndexLit, IndexPlace, LitPlace, Rd, StructBuilder, array, assign, bind,
    constant, field, index, index_lit, index_place, lit_place, rd, target, var,
};

use std::marker::PhantomData;

use crate::capture::{Capture, Local, Position, Stage};

/// A value: the result of one instruction.
pub struct Val<T> {
    pub(crate) id: u32,
    ty: PhantomData<fn() -> T>,
}

impl<T> Clone for Val<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Val<T> {}

impl<T> Val<T> {
    pub(crate) fn new(id: u32) -> Val<T> {
        Val { id, ty: PhantomData }
    }
}

/// A mutable local, or a part of one: an entry of the builder's list of places.
pub struct Place<T> {
    pub(crate) at: usize,
    ty: PhantomData<fn() -> T>,
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> Place<T> {
    pub(crate) fn new(at: usize) -> Place<T> {
        Place { at, ty: PhantomData }
    }
}

/// A capture that is no plain value: a struct of captures, an accessor, an item.
pub struct Cap<T> {
    pub(crate) at: Position,
    ty: PhantomData<fn() -> T>,
}

impl<T> Clone for Cap<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Cap<T> {}

impl<T> Cap<T> {
    pub(crate) fn new(at: Position) -> Cap<T> {
        Cap { at, ty: PhantomData }
    }
}

/// Which handle stands for a type.
pub trait Kind {
    /// The handle.
    type Of<T: Stage>: Copy;
    /// The handle of a capture.
    fn make<T: Capture>(at: Position) -> Self::Of<T>;
}

/// Types whose staged form is a value.
#[derive(Debug)]
pub enum Plain {}

/// Types whose staged form is a place among the captures.
#[derive(Debug)]
pub enum Composite {}

impl Kind for Plain {
    type Of<T: Stage> = Val<T>;
    fn make<T: Capture>(at: Position) -> Val<T> {
        Val::new(T::plain_shape().map_or(0, |shape| with(|b| b.load_plain(&shape, at))))
    }
}

impl Kind for Composite {
    type Of<T: Stage> = Cap<T>;
    fn make<T: Capture>(at: Position) -> Cap<T> {
        Cap::new(at)
    }
}

/// The staged form of a type.
pub type Staged<T> = <<T as Stage>::Kind as Kind>::Of<T>;

pub(crate) fn shape<T: Local>() -> crate::shape::Shape {
    T::shape()
}
