//! Passes over a module, each in a file of its own.

pub(crate) mod copy_propagation;
pub(crate) mod dce;
pub(crate) mod formulas;
pub(crate) mod lower;
pub(crate) mod no_contraction;
pub(crate) mod refuse;
pub(crate) mod restore_returns;
pub(crate) mod sroa;
pub(crate) mod strip_layout;
