//! What a kernel does to memory: index expressions, guards, accesses, and the comparison of two.
//!
//! The analysis runs once per kernel and keeps everything symbolic. When a list is
//! planned, `evaluate` puts the numbers in (group counts, push constants, lengths) and `dependence` decides
//! whether two accesses can touch the same bytes only from one invocation, only from one work-group,
//! or from anywhere.

pub mod access;
pub(crate) mod affine;
mod arith;
mod behind;
#[cfg(test)]
pub(crate) mod brute;
pub(crate) mod build;
mod bytes;
pub(crate) mod cfg;
mod choice;
mod condition;
mod counters;
pub mod dependence;
mod display;
pub(crate) mod divisions;
pub(crate) mod evaluate;
mod exits;
pub mod expr;
mod flags;
pub(crate) mod floats;
pub(crate) mod if_conversion;
mod joint;
pub(crate) mod kernel_analysis;
pub(crate) mod loops;
mod merges;
pub(crate) mod numbers;
pub(crate) mod quotients;
mod recurrence;
pub(crate) mod resolved_branches;
mod rounds;
pub(crate) mod size;
mod skipped;
pub(crate) mod superword;
mod symbolic;
mod trip_counts;
pub(crate) mod uniformity;
pub(crate) mod unroll;
mod word;

pub use access::{Access, AccessKind, Texel};
pub use dependence::Relation;
pub use kernel_analysis::KernelAnalysis;
