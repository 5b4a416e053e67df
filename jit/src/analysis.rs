//! What a kernel does to memory: index expressions, guards, accesses, and the comparison of two.
//!
//! The analysis runs once per kernel and keeps everything symbolic. When a list is
//! planned, `form` puts the numbers in (group counts, push constants, lengths) and `relation` decides
//! whether two accesses can touch the same bytes only from one invocation, only from one work-group,
//! or from anywhere.

pub mod access;
mod arith;
pub(crate) mod atoms;
pub(crate) mod build;
mod bytes;
pub(crate) mod cfg;
mod condition;
pub mod expr;
pub(crate) mod floats;
pub(crate) mod form;
mod joint;
pub(crate) mod layout;
pub mod relation;
mod rounds;
pub(crate) mod straight;
mod symbolic;
pub(crate) mod trips;
pub(crate) mod unroll;
mod word;

pub use access::{Access, AccessKind, KernelAnalysis};
pub use relation::Relation;
