//! What lets more kernels join: other orders of items, definitions in the place of loads, other orders of the list, buffers of their own.

pub(in crate::plan) mod closed;
pub(in crate::plan) mod epilogue;
pub(in crate::plan) mod exactly_once;
pub(in crate::plan) mod idle;
pub(in crate::plan) mod inline;
pub(in crate::plan) mod must_write;
pub(in crate::plan) mod pad;
pub(in crate::plan) mod pays;
pub(in crate::plan) mod place;
pub(in crate::plan) mod proposal;
pub(in crate::plan) mod refused;
pub(crate) mod rename;
pub(crate) mod reorder;
pub(in crate::plan) mod rounds;
mod rows;
pub(in crate::plan) mod squares;
